// ShapeAlgebra: intersection, union and complement of shapes.
#pragma once

#include <optional>

#include "base/function_ref.h"
#include "constraint/schema/shape.h"

namespace ingot::schema {

/// What the algebra needs to know of a compilation.
struct AlgebraParts {
  FormulaTable& formulas;
  TextSets& texts;
  CompileBudget& budget;
};

/// Set operations on shapes. They are exact; subshapes stay formulas, so no operation is recursive.
class ShapeAlgebra {
 public:
  /// Returns false only if no JSON value satisfies both formulas.
  using MayShareValue = FunctionRef<bool(FormulaId, FormulaId)>;

  explicit ShapeAlgebra(const AlgebraParts& parts) : parts_(parts) {}

  Shape intersected(const Shape& a, const Shape& b, MayShareValue may_share_value);
  /// Adds the alternatives of `other` to `shape`.
  void unite(Shape& shape, const Shape& other);
  /// Sorts listed numbers, and leaves each spelling once.
  void remove_repeated(Shape& shape);
  /// Returns all values that are not in `shape`, which has at most one alternative for each type.
  Shape complement(const Shape& shape);
  /// Returns whether the shapes have obviously no value in common.
  bool are_disjoint(const Shape& a, const Shape& b, MayShareValue may_share_value);

  /// What the value of a property must satisfy; kFalse: the property may not occur.
  FormulaId value_of(const ObjectSet& set, std::int32_t name);
  /// Returns `value_of` for a property that `set` does not declare.
  FormulaId value_of_undeclared(const ObjectSet& set, std::int32_t name);

  void add(Shape& shape, NumberSet set);
  void add(Shape& shape, StringSet set);
  void add(Shape& shape, ArraySet set);
  void add(Shape& shape, ObjectSet set);

 private:
  bool are_disjoint(const ArraySet& a, const ArraySet& b, MayShareValue may_share_value);
  bool are_disjoint(const ObjectSet& a, const ObjectSet& b, MayShareValue may_share_value);
  bool required_clash(const ObjectSet& a, const ObjectSet& b, MayShareValue may_share_value);
  std::optional<StringSet> intersected(const StringSet& a, const StringSet& b);
  std::optional<ArraySet> intersected(const ArraySet& a, const ArraySet& b);
  std::optional<ObjectSet> intersected(const ObjectSet& a, const ObjectSet& b);
  void complement_strings(const StringSet& set, Shape& out);
  void complement_arrays(const ArraySet& set, Shape& out);
  void complement_objects(const ObjectSet& set, Shape& out);

  AlgebraParts parts_;
};

/// The formula of the item at `position`.
FormulaId item_at(const ArraySet& set, std::uint64_t position);
/// Cuts off items that may not occur. Returns false if the array allows nothing.
bool simplify(ArraySet& set);

}  // namespace ingot::schema
