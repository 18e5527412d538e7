// SchemaReader: the keywords of objects, and unevaluated properties and items.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "constraint/schema/schema_keywords.h"
#include "constraint/schema/schema_reader.h"

namespace ingot::schema {

const Json::Object* SchemaReader::map(const Place& place, std::string_view keyword) const {
  const Json* value = find(place, keyword);
  if (value == nullptr) return nullptr;
  if (value->as_object() == nullptr) {
    fail(place, keyword, cat("must be an object, and not ", value->kind()));
  }
  return value->as_object();
}

std::vector<std::string> SchemaReader::names(const Place& place, const std::string& keyword,
                                             const Json& value) const {
  std::vector<std::string> out;
  if (value.as_array() == nullptr) {
    fail(place, keyword, cat("must be an array of strings, and not ", value.kind()));
  }
  for (const Json& name : *value.as_array()) {
    if (name.as_string() == nullptr) {
      fail(place, keyword, cat("must hold strings, and not ", name.kind()));
    }
    out.push_back(*name.as_string());
  }
  return out;
}

void SchemaReader::read_objects(const Place& place, ObjectSet& set, TextSetId names,
                                bool is_exact) {
  if (const Json::Object* properties = map(place, "properties")) {
    for (const auto& [name, value] : *properties) {
      set.properties.push_back({parts_.formulas.name_id(name),
                                child(place, value, pointer_to("/properties", name)), false});
    }
  }
  if (document_.has_unevaluated()) {
    std::vector<std::string> declared;
    for (const Property& property : set.properties) {
      declared.push_back(parts_.formulas.name(property.name));
    }
    if (!declared.empty()) set.evaluated.push_back(parts_.texts.of_texts(std::move(declared)));
  }
  read_patterns(place, set);
  if (names != TextSets::kAll) {
    const TextSetId others = parts_.texts.complement(names);
    for (Property& property : set.properties) {
      if (parts_.texts.contains(others, parts_.formulas.name(property.name))) {
        property.value = kFalse;
      }
    }
    set.rules.push_back({others, kFalse, {place.schema, "propertyNames"}});
  }
  set.is_opaque = set.is_opaque || !is_exact;
  read_required(place, set);
  set.count_min = count(place, "minProperties").value_or(0);
  set.count_max = count(place, "maxProperties").value_or(kNoLimit);
  read_dependencies(place, "dependentRequired", set);
  read_dependencies(place, "dependencies", set);
}

void SchemaReader::read_patterns(const Place& place, ObjectSet& set) {
  TextSetId matched = TextSets::kNone;
  bool is_known = true;
  if (const Json::Object* patterns = map(place, "patternProperties")) {
    for (const auto& [text, value] : *patterns) {
      const FormulaId part = child(place, value, pointer_to("/patternProperties", text));
      const auto names = pattern(place, "patternProperties", text);
      is_known = is_known && names.has_value();
      if (!names.has_value()) continue;
      matched = parts_.texts.united(matched, *names);
      if (document_.has_unevaluated()) set.evaluated.push_back(*names);
      for (Property& property : set.properties) {
        parts_.budget.spend();
        if (parts_.texts.contains(*names, parts_.formulas.name(property.name))) {
          property.value = parts_.formulas.both(property.value, part);
        }
      }
      if (part != kTrue) set.rules.push_back({*names, part, {place.schema, "patternProperties"}});
    }
  }
  set.is_opaque = !is_known;
  if (find(place, "additionalProperties") == nullptr) return;
  const FormulaId others = keyword_formula(place, "additionalProperties");
  set.evaluates_all = document_.has_unevaluated();
  if (others != kTrue && is_known) {
    set.rules.push_back(
        {parts_.texts.complement(matched), others, {place.schema, "additionalProperties"}});
  }
}

void SchemaReader::read_required(const Place& place, ObjectSet& set) {
  const Json* value = find(place, "required");
  if (value == nullptr) return;
  for (const std::string& text : names(place, "required", *value)) {
    const std::int32_t name = parts_.formulas.name_id(text);
    parts_.budget.spend(set.properties.size() / 8 + 1);
    const auto known = std::find_if(set.properties.begin(), set.properties.end(),
                                    [&](const Property& p) { return p.name == name; });
    if (known != set.properties.end()) {
      known->is_required = true;
    } else {
      set.properties.push_back({name, algebra_.value_of(set, name), true});
    }
  }
}

void SchemaReader::read_dependencies(const Place& place, std::string_view keyword, ObjectSet& set) {
  const Json::Object* members = map(place, keyword);
  if (members == nullptr) return;
  for (const auto& [text, value] : *members) {
    const bool is_old_form = keyword == "dependencies";
    if (is_old_form && value.as_array() == nullptr && value.as_string() == nullptr) continue;
    const std::int32_t name = parts_.formulas.name_id(text);
    if (is_old_form && value.as_string() != nullptr) {
      set.dependencies.emplace_back(name, parts_.formulas.name_id(*value.as_string()));
      continue;
    }
    for (const std::string& other : names(place, std::string(keyword), value)) {
      set.dependencies.emplace_back(name, parts_.formulas.name_id(other));
    }
  }
}

void SchemaReader::add_unevaluated(Shape& shape, SchemaId schema, int context) {
  const Place place = this->place(schema, context);
  if (find(place, "unevaluatedProperties") != nullptr) {
    const FormulaId others = keyword_formula(place, "unevaluatedProperties");
    auto objects = std::exchange(shape.objects, {});
    for (ObjectSet& set : objects) {
      // The keys of an unknown pattern are evaluated too.
      const bool is_done = set.evaluates_all || set.is_opaque;
      TextSetId names = is_done ? TextSets::kNone : TextSets::kAll;
      for (const TextSetId evaluated : set.evaluated)
        names = parts_.texts.without(names, evaluated);
      for (Property& property : set.properties) {
        if (parts_.texts.contains(names, parts_.formulas.name(property.name))) {
          property.value = parts_.formulas.both(property.value, others);
        }
      }
      if (others != kTrue && !parts_.texts.is_empty(names)) {
        set.rules.push_back({names, others, {schema, "unevaluatedProperties"}});
      }
      set.evaluates_all = true;
      algebra_.add(shape, std::move(set));
    }
  }
  if (find(place, "unevaluatedItems") != nullptr) {
    const FormulaId others = keyword_formula(place, "unevaluatedItems");
    auto arrays = std::exchange(shape.arrays, {});
    for (ArraySet& set : arrays) {
      std::vector<FormulaId> allowed = set.evaluated_items;
      allowed.push_back(others);
      const FormulaId value = parts_.formulas.any(allowed);
      while (set.evaluated != kNoLimit && set.first.size() < set.evaluated) {
        set.first.push_back(set.rest);
      }
      for (std::size_t i = set.evaluated; i < set.first.size(); ++i) {
        set.first[i] = parts_.formulas.both(set.first[i], value);
      }
      if (set.evaluated != kNoLimit) set.rest = parts_.formulas.both(set.rest, value);
      set.evaluated = kNoLimit;
      algebra_.add(shape, std::move(set));
    }
  }
}

}  // namespace ingot::schema
