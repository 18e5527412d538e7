// JSON Schema: compiles a schema to a grammar of the JSON texts that are valid.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "constraint/grammar.h"
#include "load/json.h"

namespace ingot {

/// A keyword of a schema that cannot be enforced.
struct SchemaNote {
  std::string pointer;  ///< JSON pointer of the keyword: "/properties/a/contains"
  std::string reason;   ///< "uniqueItems of objects cannot be enforced"
};

/// How to compile a schema.
struct SchemaOptions {
  /// True: what cannot be enforced is an error. False: the enforceable superset is compiled, and
  /// `notes` names the rest.
  bool is_strict = false;
  bool any_order = false;  ///< declared properties in any order
  /// The array or object that holds the schema in the request, for messages: "response_format".
  std::string name = "schema";
};

/// Adds the valid JSON texts of `schema` to `grammar`. Drafts 4, 6, 7, 2019-09 and 2020-12 are
/// recognised by $schema; without it, keywords keep the meaning of the newest draft that has them.
///
/// Errors: Error{kInvalid}: "<name><pointer>: <reason>" for a malformed schema, an unsatisfiable
/// one,
///         a $ref that is not found or not in the schema, and, if strict, whatever cannot be
///         enforced; those of CompileBudget.
NodeId add_json_schema(Grammar& grammar, const Json& schema, const SchemaOptions& options,
                       std::vector<SchemaNote>& notes, CompileBudget& budget);

/// Compiles parts of one schema, which share its definitions and their nodes.
class SchemaParts {
 public:
  /// Strings, decoded.
  struct Strings {
    TextDfa language;
    std::uint64_t length_min = 0;
    std::uint64_t length_max = kUnlimited;
  };

  /// The references must outlive this. Errors: those of add_json_schema.
  SchemaParts(Grammar& grammar, const Json& schema, const SchemaOptions& options,
              std::vector<SchemaNote>& notes, CompileBudget& budget);
  ~SchemaParts();
  SchemaParts(const SchemaParts&) = delete;
  SchemaParts& operator=(const SchemaParts&) = delete;

  /// Adds the valid JSON texts of `part`, which is a subschema inside the schema. `types`: only
  /// values of these types ("null", "integer", ...). Returns kNoNode if there are none.
  ///
  /// Errors: those of add_json_schema, but none for a part without valid texts.
  NodeId add(const Json& part, const std::vector<std::string_view>& types);
  /// Returns the strings that `part` allows: the union of the list. Errors: those of `add`.
  std::vector<Strings> strings(const Json& part);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Adds any JSON text: an object if `is_object`, else any value.
NodeId add_any_json(Grammar& grammar, bool is_object, CompileBudget& budget);

}  // namespace ingot
