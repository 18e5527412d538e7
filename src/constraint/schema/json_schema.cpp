// JSON Schema: reads a schema, plans its shapes and writes the grammar.
#include "constraint/schema/json_schema.h"

#include "base/error.h"
#include "base/text.h"
#include "constraint/schema/number_sets.h"
#include "constraint/schema/schema_emitter.h"

namespace ingot {
namespace {

NodeId compile(Grammar& grammar, const Json& schema, const SchemaOptions& options,
               std::vector<SchemaNote>& notes, CompileBudget& budget) {
  schema::SchemaReport report(options, notes);
  schema::SchemaDocument document(schema, report, budget);
  schema::FormulaTable formulas(budget);
  schema::TextSets texts(budget);
  const schema::AlgebraParts parts = {formulas, texts, budget};
  schema::SchemaReader reader(parts, document, report);
  schema::ShapeTable shapes(parts, document, reader, report);
  schema::Planner planner(parts, document, shapes, report);
  const schema::FormulaId root =
      reader.formula(schema::SchemaDocument::kRoot, document.root_context());
  planner.plan(root);
  if (!planner.has_value(root)) report.fail("", "allows no text");
  planner.check_widths(options.any_order);
  return schema::SchemaEmitter(parts, options, planner, grammar).emit(root);
}

}  // namespace

NodeId add_json_schema(Grammar& grammar, const Json& schema, const SchemaOptions& options,
                       std::vector<SchemaNote>& notes, CompileBudget& budget) {
  try {
    return compile(grammar, schema, options, notes, budget);
  } catch (const Error& error) {
    if (error.message().starts_with(options.name)) throw;
    throw Error(error.code(), cat(options.name, ": ", error.message()));
  }
}

NodeId add_any_json(Grammar& grammar, bool is_object, CompileBudget& budget) {
  const NodeId value = grammar.reserve();
  const std::vector<std::string> names = {"null", "true", "false"};
  TextDfa scalars =
      TextDfa::any_of(names, budget).united(schema::language_of({}, false, budget), budget);
  grammar::Array array;
  array.rest.value = value;
  grammar::Object object;
  object.other_keys = grammar.add_language(TextDfa::all(budget));
  object.other_values = {value};
  const NodeId object_node = grammar.add(std::move(object));
  grammar.set(value,
              grammar::Choice{{grammar.terminal(std::move(scalars)), grammar.add(grammar::String{}),
                               grammar.add(std::move(array)), object_node}});
  return is_object ? object_node : value;
}

}  // namespace ingot
