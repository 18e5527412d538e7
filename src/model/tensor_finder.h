// TensorFinder: finds a checkpoint's tensors by role, and knows which of them are used.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "load/checkpoint.h"
#include "model/bind.h"
#include "model/family.h"

namespace ingot {

using Shape = std::vector<std::int64_t>;

/// Formats a shape: "[32, 64]".
std::string to_string(const Shape& shape);

/// A matrix of a weight: its role, its rows, and the role of its bias, if it may have one.
struct MatrixRole {
  TensorRole role;
  std::int64_t rows;
  std::optional<TensorRole> bias = std::nullopt;
};

/// Finds tensors by role. Names depend on the family, on the naming, and in Hugging Face files on a
/// prefix, which other tensors of the file show.
class TensorFinder {
 public:
  /// All arguments must outlive this object. `planner`: gives missing tensors; null: they are an
  /// error.
  TensorFinder(const Checkpoint& checkpoint, const Config& config,
               TensorPlanner* planner = nullptr);

  const Family& family() const { return family_; }
  Naming naming() const { return config_.naming; }

  /// Throws model_error for a tensor, or for all tensors.
  [[noreturn]] void fail(const TensorInfo& tensor, std::string_view reason) const;
  [[noreturn]] void fail(std::string_view reason) const;
  /// Throws the error of an absent tensor, which names it in both namings.
  [[noreturn]] void fail_missing(TensorRole role, std::int64_t layer, std::int64_t expert) const;

  /// Returns whether the family has the role, and the checkpoint or the planner its tensor.
  bool has(TensorRole role, std::int64_t layer = 0) const {
    return find(role, layer, 0) != nullptr || is_planned(role, layer);
  }
  /// Returns the role's tensor, unchecked and unused; null if there is none.
  const TensorInfo* find(TensorRole role, std::int64_t layer, std::int64_t expert) const;

  /// Returns the role's tensor with this shape, in which leading ones do not count; null if the
  /// family does not have the role, or if it is optional and absent.
  ///
  /// Errors: model_error if the tensor is missing, or has another shape or no weights.
  const TensorInfo* take(TensorRole role, const Shape& shape, std::int64_t layer = 0,
                         std::int64_t expert = 0);
  /// Returns the role's tensor of unsigned bytes. Errors: those of `take`; a missing tensor.
  const TensorInfo* take_bytes(TensorRole role, const Shape& shape, std::int64_t layer);
  /// Returns the tensor of this name. Errors: those of `take`; a missing tensor.
  const TensorInfo* take_named(std::string_view name, const Shape& shape);

  /// Stacks matrices and their biases into one weight; empty if one of the matrices is absent.
  ///
  /// Errors: those of `take`; biases of some of the matrices only.
  BoundWeight take_weight(std::initializer_list<MatrixRole> matrices, std::int64_t cols,
                          std::int64_t layer);
  BoundWeight take_matrix(TensorRole role, std::int64_t rows, std::int64_t cols,
                          std::int64_t layer = 0) {
    return take_weight({{role, rows}}, cols, layer);
  }
  /// Returns a norm over `cols` elements, and its bias if the family has one.
  BoundNorm take_norm(TensorRole role, std::optional<TensorRole> bias, std::int64_t cols,
                      std::int64_t layer = 0);
  /// Returns a norm with `rows` rows of weights, which files store in one or in `rows` tensors.
  BoundNorm take_norm_rows(TensorRole role, std::int64_t rows, std::int64_t cols,
                           std::int64_t layer);

  /// Marks a tensor as used for a role.
  void use(const TensorInfo& tensor, TensorRole role, std::int64_t layer);
  /// Leaves out the role's tensor, if there is one. A note counts it as `part`, unless that is "".
  void leave_out(TensorRole role, std::int64_t layer, std::string_view part);
  /// Refuses tensors that no role uses, unless no result needs them. Returns a note that names
  /// those, or "".
  std::string check_left_over() const;
  /// Returns the used tensors in the order of use, each once.
  std::vector<BoundTensor> take_used() { return std::move(list_); }

 private:
  std::string find_prefix() const;
  std::int64_t tensors_with(std::string_view prefix) const;
  const TensorInfo* check(const TensorInfo& tensor, const Shape& shape) const;
  bool is_planned(TensorRole role, std::int64_t layer) const;
  bool may_lack(const RoleRule& rule);
  std::string unused_part(std::string_view name) const;
  bool is_mtp(std::string_view name) const;

  const Checkpoint& checkpoint_;
  const Config& config_;
  TensorPlanner* planner_;
  const Family& family_;
  std::string prefix_;
  std::set<const TensorInfo*> used_;
  std::map<const TensorInfo*, std::string> left_out_;
  std::set<TensorRole> found_;    ///< roles of which a tensor was found
  std::set<TensorRole> lacking_;  ///< optional roles of which a tensor was absent
  std::vector<BoundTensor> list_;
};

}  // namespace ingot
