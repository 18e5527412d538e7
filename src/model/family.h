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

/// Whether a family's checkpoints must have a tensor.
enum class Presence : std::uint8_t {
  kRequired,
  kOptional,  ///< may be absent, for example a bias
};

/// One entry of a family's tensor table: a role, and whether checkpoints must have its tensor.
struct RoleRule {
  TensorRole role;
  Presence presence;
};

/// A family as data: its architectures' names, a Spec builder, and the tensors that its checkpoints
/// may have. Any other tensor is an error, because it may belong to an unknown feature.
struct Family {
  std::vector<std::string_view> architectures;  ///< names in GGUF's spelling
  Spec (*spec)(const Config& config);
  std::vector<RoleRule> roles;
};

/// Finds the family that has the architecture `config.architecture`.
///
/// Errors: if no family has it, model_error for `file` that lists the supported architectures.
const Family& find_family(const Config& config, const std::string& file);

}  // namespace ingot
