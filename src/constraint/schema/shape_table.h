// ShapeTable: the shape of each formula, computed on demand.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "constraint/schema/schema_reader.h"

namespace ingot::schema {

/// Computes shapes. The stack of formulas that wait for others is explicit.
class ShapeTable {
 public:
  /// An intersection with more alternatives is not enforced: a Matcher follows 256 at a time, and
  /// the alternatives of nested values multiply.
  static constexpr std::size_t kAlternativesMax = 64;

  ShapeTable(const AlgebraParts& parts, SchemaDocument& document, SchemaReader& reader,
             SchemaReport& report)
      : parts_(parts), algebra_(parts), document_(document), reader_(reader), report_(report) {}

  /// Returns the shape of a formula. If the schema is not strict, it may be a superset.
  ///
  /// A formula may contain itself with no value between, as a part of unions and intersections:
  /// then its shape is the smallest that fits. In F(X), a union of intersections, that is F(no
  /// value), since X holds nothing beyond it.
  ///
  /// Errors: those of SchemaReport for a malformed schema, for one that refers to itself without a
  ///         value between, and for what cannot be enforced.
  const Shape& shape(FormulaId formula);
  /// Returns false only if no value satisfies both formulas.
  bool may_share_value(FormulaId a, FormulaId b);

 private:
  static constexpr FormulaId kNoFormula = -1;
  static constexpr std::size_t kCombinationsMax = 128;
  static constexpr int kNestingMax = 8;
  /// Schemas that contain each other with no value between may need as many shapes again. Where
  /// all contain all, the number doubles with each schema.
  static constexpr int kRepeatedMax = 1000;
  enum class State : std::uint8_t { kNew, kOpen, kDone };
  struct Entry {
    State state = State::kNew;
    int level = 0;  ///< nesting of the computation that opened it
    FormulaId rewritten = kNoFormula;
    bool is_wide = false;  ///< `rewritten` lacks combinations of an observed kAny
    std::shared_ptr<const Shape> shape;
    /// Open formulas that `shape` takes for empty; without any, it is final.
    std::vector<FormulaId> assumed{};
  };

  Entry& entry(FormulaId formula);
  const Shape* compute(FormulaId formula);
  void reopen(const std::vector<FormulaId>& open);
  bool is_of_outer(const Entry& entry) const;
  std::vector<FormulaId> dependencies(FormulaId formula);
  /// Returns the formulas that the shapes of `needed` take for empty, including open ones.
  std::vector<FormulaId> assumptions(FormulaId formula, const std::vector<FormulaId>& needed);
  /// Ends a formula that took `assumed` for empty. Forgets shapes that took this one for empty.
  void settle(FormulaId formula, std::vector<FormulaId> assumed);
  bool may_contain_itself(FormulaId formula) const;
  [[noreturn]] void fail_cycle(FormulaId formula) const;
  /// Computes the shape from those of the dependencies. Returns false if there are new ones.
  bool finish(FormulaId formula);
  Shape leaf(const Formula& formula, FormulaId rewritten);
  Shape assertions(const Formula& formula, FormulaId names);
  Shape all(const Formula& formula);
  FormulaId one(const Formula& formula);
  /// The union of the parts of an observed kAny and of all their combinations; kNoFormula if they
  /// are too many.
  FormulaId combined(const Formula& formula);
  std::shared_ptr<const Shape> combined_shape(FormulaId id);
  /// The parts of a kOne, each with what stands beside them.
  std::vector<FormulaId> placed_parts(const Formula& formula);
  SchemaId schema_of(FormulaId formula) const;

  AlgebraParts parts_;
  ShapeAlgebra algebra_;
  SchemaDocument& document_;
  SchemaReader& reader_;
  SchemaReport& report_;
  std::vector<Entry> entries_;
  std::vector<FormulaId> provisional_;  ///< finished formulas with assumptions
  int repeated_ = 0;
  int level_ = 0;
  int nesting_ = 0;
  std::map<std::pair<FormulaId, FormulaId>, bool> may_share_;
};

}  // namespace ingot::schema
