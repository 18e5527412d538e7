// Family: architectures that share a set of tensors.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "load/config.h"
#include "model/names.h"

namespace ingot {

/// Whether a family's checkpoints must have a tensor.
enum class Presence : std::uint8_t {
  kRequired,
  kOptional,    ///< may be absent, but then in all layers; for example a bias
  kAfterFirst,  ///< required in all layers but the first, which must not have it
};

/// One entry of a family's tensor table: a role, whether checkpoints must have its tensor, and how
/// they spell it.
struct RoleRule {
  TensorRole role;
  Presence presence;
  RoleNames names;  ///< an empty pattern stands for the default

  /// Returns the names with the defaults filled in.
  RoleNames spelled() const;
};

/// A family as data: its architectures' names, and the tensors that its checkpoints may have. Any
/// other tensor is an error, because it may belong to an unknown feature.
struct Family {
  std::vector<std::string_view> architectures;  ///< names in GGUF's spelling
  std::vector<RoleRule> roles;
  /// Beginnings of names of tensors that no result of ingot needs, after the model's prefix or
  /// without it: heads of masked language models, unused poolers.
  std::vector<std::string_view> unused;

  /// Returns the rule of a role; null if the family does not have the role.
  const RoleRule* rule_of(TensorRole role) const;
  /// Returns the tensor's usual name in this family; empty if the family does not have the role.
  std::string tensor_name(TensorRole role, Naming naming, std::int64_t layer = 0,
                          std::int64_t expert = 0) const;
};

/// Finds the family that has an architecture, in GGUF's spelling.
///
/// Errors: if no family has it, model_error for `file` that lists the supported architectures.
const Family& find_family(std::string_view architecture, const std::string& file);

/// Returns all supported families.
std::span<const Family> families();

}  // namespace ingot
