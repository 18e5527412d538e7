// SchemaReader: reads the keywords of a subschema.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "constraint/schema/schema_document.h"
#include "constraint/schema/schema_report.h"
#include "constraint/schema/shape_algebra.h"

namespace ingot::schema {

/// Turns keywords into formulas and shapes. Malformed values are errors of SchemaReport::fail.
class SchemaReader {
 public:
  SchemaReader(const AlgebraParts& parts, SchemaDocument& document, SchemaReport& report)
      : parts_(parts), algebra_(parts), document_(document), report_(report) {}

  /// Returns the formula of a subschema in a context.
  FormulaId formula(SchemaId schema, int context, bool is_observed = false);
  /// Returns what a subschema means: its own assertions and the subschemas that it applies to the
  /// same value.
  FormulaId definition(SchemaId schema, int context, bool is_observed);
  /// Returns the formula that property names must satisfy, kTrue if there is none.
  FormulaId property_names(SchemaId schema, int context);
  /// Returns the shape of the keywords that look at one type. `names` is the set of strings that
  /// satisfy `property_names`; `is_exact` tells whether all of them do.
  Shape assertions(SchemaId schema, int context, TextSetId names, bool is_exact);
  /// Returns the shape of a constant.
  Shape constant(const Json& value);
  /// Returns the shape of the scalars in an array.
  Shape scalars(const Json& values);
  /// Adds the unevaluated... keywords of `schema` to the alternatives of `shape`.
  void add_unevaluated(Shape& shape, SchemaId schema, int context);

 private:
  /// A subschema that is being read.
  struct Place {
    SchemaId schema = kNoSchema;
    int context = 0;
    const Json::Object& members;
    Draft draft = Draft::kAny;
  };
  struct Definition;

  Place place(SchemaId schema, int context) const;
  [[noreturn]] void fail(const Place& place, std::string_view keyword,
                         std::string_view reason) const;
  FormulaId child(const Place& place, const Json& json, const std::string& step,
                  bool is_observed = false);
  FormulaId keyword_formula(const Place& place, std::string_view keyword);
  std::vector<FormulaId> list(const Place& place, std::string_view keyword, const Json& value,
                              bool is_observed);
  const Json* find(const Place& place, std::string_view keyword) const;
  std::optional<std::uint64_t> count(const Place& place, std::string_view keyword) const;
  const Json::Object* map(const Place& place, std::string_view keyword) const;
  std::vector<std::string> names(const Place& place, const std::string& keyword,
                                 const Json& value) const;

  void define_keyword(const Place& place, const std::string& keyword, const Json& value,
                      Definition& definition);
  void define_reference(const Place& place, const std::string& keyword, const Json& value,
                        Definition& definition);
  FormulaId any_of(const Place& place, std::vector<FormulaId> parts, bool is_observed);
  FormulaId condition(const Place& place, bool is_observed);
  FormulaId enumeration(const Place& place, const Json& value);
  FormulaId dependent_schemas(const Place& place, const std::string& keyword, const Json& value,
                              bool is_observed);

  void read_types(const Place& place, Shape& shape);
  void read_numbers(const Place& place, NumberSet& set);
  void read_bound(const Place& place, NumberSet& set, bool is_low);
  void read_strings(const Place& place, StringSet& set);
  void read_arrays(const Place& place, ArraySet& set);
  void read_contains(const Place& place, ArraySet& set);
  void read_objects(const Place& place, ObjectSet& set, TextSetId names, bool is_exact);
  void read_patterns(const Place& place, ObjectSet& set);
  void read_required(const Place& place, ObjectSet& set);
  void read_dependencies(const Place& place, std::string_view keyword, ObjectSet& set);
  std::optional<TextSetId> pattern(const Place& place, std::string_view keyword,
                                   const std::string& pattern);

  AlgebraParts parts_;
  ShapeAlgebra algebra_;
  SchemaDocument& document_;
  SchemaReport& report_;
};

}  // namespace ingot::schema
