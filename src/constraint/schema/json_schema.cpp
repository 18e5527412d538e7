// JSON Schema: reads a schema, plans its shapes and writes the grammar.
#include "constraint/schema/json_schema.h"

#include <list>

#include "base/error.h"
#include "base/text.h"
#include "constraint/schema/number_sets.h"
#include "constraint/schema/schema_emitter.h"

namespace ingot {
namespace {

/// Calls `body`; its errors begin with the schema's name.
template <class Body>
auto about_schema(const SchemaOptions& options, Body&& body) {
  try {
    return body();
  } catch (const Error& error) {
    if (error.message().starts_with(options.name)) throw;
    throw Error(error.code(), cat(options.name, ": ", error.message()));
  }
}

}  // namespace

/// One compilation.
struct SchemaParts::State {
  State(Grammar& grammar, const Json& schema, const SchemaOptions& how,
        std::vector<SchemaNote>& notes, CompileBudget& budget)
      : options(how),
        report(options, notes),
        document(schema, report, budget),
        formulas(budget),
        texts(budget),
        parts{formulas, texts, budget},
        reader(parts, document, report),
        shapes(parts, document, reader, report),
        planner(parts, document, shapes, report),
        emitter(parts, options, planner, grammar) {}

  schema::FormulaId formula(const Json& part) {
    const schema::SchemaId id = document.id_of(part, schema::SchemaDocument::kRoot, "");
    return reader.formula(id, document.root_context());
  }
  /// Plans the values of `part` that have one of `types`.
  schema::FormulaId plan(const Json& part, const std::vector<std::string_view>& types) {
    Json names = Json::array();
    for (const std::string_view type : types) names.push(type);
    filters.push_back(Json::object());
    filters.back().set("type", std::move(names));
    const schema::FormulaId root =
        types.empty() ? formula(part) : formulas.both(formula(part), formula(filters.back()));
    planner.plan(root);
    return root;
  }

  const SchemaOptions options;
  schema::SchemaReport report;
  schema::SchemaDocument document;
  schema::FormulaTable formulas;
  schema::TextSets texts;
  schema::AlgebraParts parts;
  schema::SchemaReader reader;
  schema::ShapeTable shapes;
  schema::Planner planner;
  schema::SchemaEmitter emitter;
  std::list<Json> filters{};  ///< schemas of types; the document knows them by their addresses
};

SchemaParts::SchemaParts(Grammar& grammar, const Json& schema, const SchemaOptions& options,
                         std::vector<SchemaNote>& notes, CompileBudget& budget)
    : state_(about_schema(options, [&] {
        return std::make_unique<State>(grammar, schema, options, notes, budget);
      })) {}

SchemaParts::~SchemaParts() = default;

NodeId SchemaParts::add(const Json& part, const std::vector<std::string_view>& types) {
  return about_schema(state_->options, [&] {
    const schema::FormulaId root = state_->plan(part, types);
    if (!state_->planner.has_value(root)) return kNoNode;
    state_->planner.check_widths(state_->options.any_order);
    return state_->emitter.emit(root);
  });
}

std::vector<SchemaParts::Strings> SchemaParts::strings(const Json& part) {
  return about_schema(state_->options, [&] {
    const schema::FormulaId root = state_->plan(part, {"string"});
    std::vector<Strings> found;
    if (!state_->planner.has_value(root)) return found;
    for (const schema::StringSet& set : state_->planner.get(root).strings) {
      found.push_back(
          {.language = state_->texts.language(set.texts),
           .length_min = set.length_min,
           .length_max = set.length_max == schema::kNoLimit ? kUnlimited : set.length_max});
    }
    return found;
  });
}

NodeId add_json_schema(Grammar& grammar, const Json& schema, const SchemaOptions& options,
                       std::vector<SchemaNote>& notes, CompileBudget& budget) {
  SchemaParts parts(grammar, schema, options, notes, budget);
  const NodeId root = parts.add(schema, {});
  if (root == kNoNode) throw Error(ErrorCode::kInvalid, cat(options.name, ": allows no text"));
  return root;
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
