// Family: the architectures that share a way from a Config to a Spec and a set of tensors.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "load/config.h"
#include "model/names.h"
#include "model/spec.h"

namespace ingot {

/// Whether a family's checkpoints have a tensor.
enum class Presence : std::uint8_t {
  kRequired,
  kOptional,  ///< present switches its feature on
};

/// One line of a family's tensor table.
struct SlotRule {
  Slot slot;
  Presence presence;
};

/// A family is data: the names it answers to, a Spec builder, and the tensors it may have. What a
/// checkpoint holds beyond them is an error, so that a feature that is not known is never silently
/// ignored.
struct Family {
  std::vector<std::string_view> architectures;  ///< GGUF's spelling
  Spec (*spec)(const Config& config);
  std::vector<SlotRule> slots;
};

/// The family that answers to `config.architecture`.
///
/// Errors: model_error for `file` that lists what is supported.
const Family& find_family(const Config& config, const std::string& file);

}  // namespace ingot
