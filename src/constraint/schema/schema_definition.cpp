// SchemaReader: the keywords that apply subschemas and constants to the same value.
#include <algorithm>

#include "base/text.h"
#include "constraint/schema/schema_keywords.h"
#include "constraint/schema/schema_reader.h"

namespace ingot::schema {

/// A definition that grows keyword by keyword, in the order of the schema.
struct SchemaReader::Definition {
  std::vector<FormulaId> parts;
  bool is_observed = false;
  bool has_assertions = false;
  bool has_condition = false;
  std::size_t one_at = kNone;  ///< index in `parts` of the formula of oneOf
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
};

SchemaReader::Place SchemaReader::place(SchemaId schema, int context) const {
  return {schema, context, *document_.json(schema).as_object(), document_.draft(schema)};
}

void SchemaReader::fail(const Place& place, std::string_view keyword,
                        std::string_view reason) const {
  report_.fail(document_.pointer(place.schema, keyword), reason);
}

const Json* SchemaReader::find(const Place& place, std::string_view keyword) const {
  const Json* value = document_.json(place.schema).find(keyword);
  if (value == nullptr || keyword_use(keyword, place.draft) == KeywordUse::kNone) return nullptr;
  return value;
}

FormulaId SchemaReader::formula(SchemaId schema, int context, bool is_observed) {
  const Json& json = document_.json(schema);
  parts_.budget.spend();
  if (const bool* is_all = json.as_bool()) return *is_all ? kTrue : kFalse;
  if (json.as_object() == nullptr) {
    report_.fail(document_.pointer(schema),
                 cat("must be a schema: an object, true or false, and not ", json.kind()));
  }
  const Draft draft = document_.draft(schema);
  const bool is_trivial = std::none_of(
      json.as_object()->begin(), json.as_object()->end(),
      [&](const auto& member) { return keyword_use(member.first, draft) != KeywordUse::kNone; });
  return is_trivial ? kTrue
                    : parts_.formulas.schema(schema, document_.enter(context, schema), is_observed);
}

FormulaId SchemaReader::child(const Place& place, const Json& json, const std::string& step,
                              bool is_observed) {
  return formula(document_.id_of(json, place.schema, step), place.context, is_observed);
}

FormulaId SchemaReader::keyword_formula(const Place& place, std::string_view keyword) {
  return child(place, *find(place, keyword), pointer_to("", keyword));
}

std::vector<FormulaId> SchemaReader::list(const Place& place, std::string_view keyword,
                                          const Json& value, bool is_observed) {
  if (value.as_array() == nullptr) {
    fail(place, keyword, cat("must be an array of schemas, and not ", value.kind()));
  }
  std::vector<FormulaId> out;
  for (const Json& part : *value.as_array()) {
    out.push_back(child(place, part, cat("/", keyword, "/", out.size()), is_observed));
  }
  return out;
}

FormulaId SchemaReader::definition(SchemaId schema, int context, bool is_observed) {
  const Place place = this->place(schema, context);
  const Json* properties = find(place, "unevaluatedProperties");
  const Json* items = find(place, "unevaluatedItems");
  Definition definition;
  definition.is_observed = is_observed || properties != nullptr || items != nullptr;
  const Json* reference = find(place, "$ref");
  if (reference != nullptr && is_old(place.draft)) {
    define_reference(place, "$ref", *reference, definition);
  } else {
    for (const auto& [keyword, value] : place.members) {
      define_keyword(place, keyword, value, definition);
    }
  }
  FormulaId all = kTrue;
  if (definition.one_at == Definition::kNone) {
    all = parts_.formulas.all(definition.parts);
  } else {
    const auto one = definition.parts.begin() + static_cast<std::ptrdiff_t>(definition.one_at);
    all = parts_.formulas.one_within(parts_.formulas.all({definition.parts.begin(), one}), *one,
                                     parts_.formulas.all({one + 1, definition.parts.end()}));
  }
  const bool is_plain = properties == nullptr && items == nullptr;
  return is_plain ? all : parts_.formulas.unevaluated(all, schema, context);
}

void SchemaReader::define_keyword(const Place& place, const std::string& keyword, const Json& value,
                                  Definition& definition) {
  const KeywordUse use = keyword_use(keyword, place.draft);
  if (use == KeywordUse::kNone) return;
  auto& parts = definition.parts;
  const bool has_names = keyword == "dependencies" && !definition.has_assertions;
  if ((use == KeywordUse::kAssertion || has_names) && !definition.has_assertions) {
    definition.has_assertions = true;
    parts.push_back(parts_.formulas.assertions(place.schema, place.context));
  }
  if (keyword == "$ref" || keyword == "$dynamicRef" || keyword == "$recursiveRef") {
    define_reference(place, keyword, value, definition);
  } else if (keyword == "allOf") {
    for (const FormulaId part : list(place, keyword, value, definition.is_observed)) {
      parts.push_back(part);
    }
  } else if (keyword == "anyOf") {
    parts.push_back(
        any_of(place, list(place, keyword, value, definition.is_observed), definition.is_observed));
  } else if (keyword == "oneOf") {
    definition.one_at = parts.size();
    parts.push_back(
        parts_.formulas.one(list(place, keyword, value, definition.is_observed), place.schema));
  } else if (keyword == "not") {
    parts.push_back(parts_.formulas.negation(keyword_formula(place, keyword)));
  } else if (keyword == "if" || keyword == "then" || keyword == "else") {
    if (!definition.has_condition) parts.push_back(condition(place, definition.is_observed));
    definition.has_condition = true;
  } else if (keyword == "dependentSchemas" || keyword == "dependencies") {
    parts.push_back(dependent_schemas(place, keyword, value, definition.is_observed));
  } else if (keyword == "enum") {
    parts.push_back(enumeration(place, value));
  } else if (keyword == "const") {
    parts.push_back(parts_.formulas.constant(value));
  }
}

void SchemaReader::define_reference(const Place& place, const std::string& keyword,
                                    const Json& value, Definition& definition) {
  const std::string* text = value.as_string();
  if (text == nullptr) fail(place, keyword, cat("must be a string, and not ", value.kind()));
  const SchemaId target =
      keyword == "$ref" ? document_.resolve(place.schema, keyword, *text)
                        : document_.resolve_dynamic(place.schema, keyword, *text, place.context);
  definition.parts.push_back(formula(target, place.context, definition.is_observed));
}

FormulaId SchemaReader::any_of(const Place& place, std::vector<FormulaId> parts, bool is_observed) {
  // A value that satisfies several parts evaluates the properties of all of them.
  constexpr std::size_t kPartsMax = 6;
  if (is_observed && parts.size() > kPartsMax) {
    return parts_.formulas.any_combined(parts, place.schema);
  }
  if (is_observed) {
    const std::vector<FormulaId> single = parts;
    for (unsigned set = 1; set < 1U << single.size(); ++set) {
      std::vector<FormulaId> some;
      for (std::size_t i = 0; i < single.size(); ++i) {
        if ((set >> i & 1U) != 0) some.push_back(single[i]);
      }
      if (some.size() > 1) parts.push_back(parts_.formulas.all(some));
    }
  }
  return is_observed ? parts_.formulas.any_observed(parts) : parts_.formulas.any(parts);
}

FormulaId SchemaReader::condition(const Place& place, bool is_observed) {
  const auto part = [&](std::string_view keyword) {
    const Json* value = find(place, keyword);
    return value == nullptr ? kTrue : child(place, *value, pointer_to("", keyword), is_observed);
  };
  if (find(place, "if") == nullptr) return kTrue;
  FormulaTable& formulas = parts_.formulas;
  const FormulaId condition = part("if"), then_part = part("then"), else_part = part("else");
  if (then_part == kTrue && else_part == kTrue && !is_observed) return kTrue;
  const std::vector<FormulaId> parts = {formulas.both(condition, then_part),
                                        formulas.both(formulas.negation(condition), else_part)};
  return is_observed ? formulas.any_observed(parts) : formulas.any(parts);
}

FormulaId SchemaReader::enumeration(const Place& place, const Json& value) {
  if (value.as_array() == nullptr) {
    fail(place, "enum", cat("must be an array, and not ", value.kind()));
  }
  bool has_scalars = false;
  std::vector<FormulaId> parts;
  for (const Json& entry : *value.as_array()) {
    if (entry.as_array() == nullptr && entry.as_object() == nullptr) {
      has_scalars = true;
    } else {
      parts.push_back(parts_.formulas.constant(entry));
    }
  }
  if (has_scalars) parts.insert(parts.begin(), parts_.formulas.scalars(value));
  return parts_.formulas.any(parts);
}

FormulaId SchemaReader::dependent_schemas(const Place& place, const std::string& keyword,
                                          const Json& value, bool is_observed) {
  const Json::Object* members = value.as_object();
  if (members == nullptr) fail(place, keyword, cat("must be an object, and not ", value.kind()));
  FormulaTable& formulas = parts_.formulas;
  std::vector<FormulaId> parts;
  for (const auto& [name, part] : *members) {
    if (part.as_array() != nullptr || part.as_string() != nullptr) continue;
    const FormulaId present = formulas.has_property(formulas.name_id(name));
    const FormulaId schema = child(place, part, pointer_to(cat("/", keyword), name), is_observed);
    parts.push_back(formulas.any({formulas.negation(present), formulas.both(present, schema)}));
  }
  return formulas.all(parts);
}

FormulaId SchemaReader::property_names(SchemaId schema, int context) {
  const Place place = this->place(schema, context);
  return find(place, "propertyNames") == nullptr ? kTrue : keyword_formula(place, "propertyNames");
}

}  // namespace ingot::schema
