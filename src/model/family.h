// Family: architectures that share a Spec builder and a set of tensors.
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
  kOptional,  ///< its presence switches a feature on
};

/// A row of a family's tensor table.
struct RoleRule {
  TensorRole role;
  Presence presence;
};

/// A family as data: its architectures' names, a Spec builder, and the tensors that its checkpoints
/// may have. Any other tensor is an error, so that no unknown feature is silently ignored.
struct Family {
  std::vector<std::string_view> architectures;  ///< GGUF's spelling
  Spec (*spec)(const Config& config);
  std::vector<RoleRule> roles;
};

/// The family of `config.architecture`.
///
/// Errors: model_error for `file` that lists the supported architectures.
const Family& find_family(const Config& config, const std::string& file);

}  // namespace ingot
