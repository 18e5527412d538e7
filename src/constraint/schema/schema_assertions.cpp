// SchemaReader: types, numbers, strings and arrays, and constants.
#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"
#include "constraint/schema/number_sets.h"
#include "constraint/schema/schema_keywords.h"
#include "constraint/schema/schema_reader.h"

namespace ingot::schema {

std::optional<std::uint64_t> SchemaReader::count(const Place& place,
                                                 std::string_view keyword) const {
  const Json* value = find(place, keyword);
  if (value == nullptr) return std::nullopt;
  const std::optional<std::int64_t> whole = value->whole();
  if (!whole.has_value() || *whole < 0) {
    fail(place, keyword, "must be a whole number from 0 to 9007199254740992");
  }
  return static_cast<std::uint64_t>(*whole);
}

Shape SchemaReader::assertions(SchemaId schema, int context, TextSetId names, bool is_exact) {
  const Place place = this->place(schema, context);
  Shape shape;
  read_types(place, shape);
  if (!shape.numbers.empty()) {
    read_numbers(place, shape.numbers[0]);
    const NumberSet everything;
    auto set = intersected(shape.numbers[0], everything, parts_.budget);
    shape.numbers.clear();
    if (set.has_value()) shape.numbers.push_back(std::move(*set));
  }
  if (!shape.strings.empty()) {
    read_strings(place, shape.strings[0]);
    const StringSet& set = shape.strings[0];
    if (parts_.texts.is_empty(set.texts) || set.length_min > set.length_max) shape.strings.clear();
  }
  if (!shape.arrays.empty()) {
    read_arrays(place, shape.arrays[0]);
    if (!simplify(shape.arrays[0])) shape.arrays.clear();
  }
  if (!shape.objects.empty()) read_objects(place, shape.objects[0], names, is_exact);
  return shape;
}

void SchemaReader::read_types(const Place& place, Shape& shape) {
  const Json* value = find(place, "type");
  if (value == nullptr) {
    shape = Shape::everything();
    return;
  }
  bool has_number = false, has_integer = false;
  const auto add = [&](const Json& type) {
    const std::string* name = type.as_string();
    if (name == nullptr) fail(place, "type", "must be a type's name, or an array of these");
    if (*name == "null") {
      shape.has_null = true;
    } else if (*name == "boolean") {
      shape.has_true = shape.has_false = true;
    } else if (*name == "number") {
      has_number = true;
    } else if (*name == "integer") {
      has_integer = true;
    } else if (*name == "string") {
      if (shape.strings.empty()) shape.strings.emplace_back();
    } else if (*name == "array") {
      if (shape.arrays.empty()) shape.arrays.emplace_back();
    } else if (*name == "object") {
      if (shape.objects.empty()) shape.objects.emplace_back();
    } else {
      fail(place, "type",
           cat("'", printable(*name),
               "' must be null, boolean, integer, number, string, array or object"));
    }
  };
  if (value->as_array() != nullptr) {
    for (const Json& type : *value->as_array()) add(type);
  } else {
    add(*value);
  }
  if (has_number || has_integer) {
    shape.numbers.push_back({.bounds = {.is_integer = !has_number}});
  }
}

void SchemaReader::read_bound(const Place& place, NumberSet& set, bool is_low) {
  const std::string_view inclusive = is_low ? "minimum" : "maximum";
  const std::string_view exclusive = is_low ? "exclusiveMinimum" : "exclusiveMaximum";
  const Json* bound = find(place, inclusive);
  const Json* limit = find(place, exclusive);
  NumberBounds one;
  const auto add = [&](const Json& value, std::string_view keyword, bool excludes) {
    if (!value.number().has_value()) {
      fail(place, keyword, cat("must be a number, and not ", value.kind()));
    }
    NumberSet part;
    (is_low ? part.bounds.low : part.bounds.high) = decimal_of(value);
    (is_low ? part.bounds.excludes_low : part.bounds.excludes_high) = excludes;
    NumberSet everything = std::move(set);
    if (auto both = intersected(everything, part, parts_.budget)) {
      set = std::move(*both);
    } else {
      set = {.allowed = std::vector<Decimal>()};
    }
  };
  const bool* is_exclusive = limit == nullptr ? nullptr : limit->as_bool();
  if (bound != nullptr) {
    add(*bound, inclusive, is_exclusive != nullptr && *is_exclusive);
  }
  if (limit != nullptr && is_exclusive == nullptr) add(*limit, exclusive, true);
}

void SchemaReader::read_numbers(const Place& place, NumberSet& set) {
  set.source = {place.schema, "type"};
  if (const Json* divisor = find(place, "multipleOf")) {
    if (!divisor->number().has_value() || *divisor->number() <= 0) {
      fail(place, "multipleOf", "must be a number above 0");
    }
    set.bounds.divisors.push_back(decimal_of(*divisor));
    set.source.keyword = "multipleOf";
  }
  read_bound(place, set, true);
  read_bound(place, set, false);
}

std::optional<TextSetId> SchemaReader::pattern(const Place& place, std::string_view keyword,
                                               const std::string& pattern) {
  try {
    return parts_.texts.of_pattern(pattern);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalid) throw;
    report_.cannot_enforce(document_.pointer(place.schema, keyword), error.message());
    return std::nullopt;
  }
}

void SchemaReader::read_strings(const Place& place, StringSet& set) {
  set.length_min = count(place, "minLength").value_or(0);
  set.length_max = count(place, "maxLength").value_or(kNoLimit);
  if (set.length_max != kNoLimit || set.length_min != 0) {
    set.source = {place.schema, set.length_max != kNoLimit ? "maxLength" : "minLength"};
  }
  if (const Json* value = find(place, "pattern")) {
    if (value->as_string() == nullptr) {
      fail(place, "pattern", cat("must be a string, and not ", value->kind()));
    }
    const std::optional<TextSetId> texts = pattern(place, "pattern", *value->as_string());
    set.is_opaque = !texts.has_value();
    if (texts.has_value()) set.texts = *texts;
  }
  if (const Json* value = find(place, "format")) {
    if (value->as_string() == nullptr) {
      fail(place, "format", cat("must be a string, and not ", value->kind()));
    }
    try {
      set.texts = parts_.texts.intersected(set.texts, parts_.texts.of_format(*value->as_string()));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kInvalid) throw;
      report_.cannot_enforce(document_.pointer(place.schema, "format"), error.message());
      set.is_opaque = true;
    }
  }
}

void SchemaReader::read_arrays(const Place& place, ArraySet& set) {
  const Json* prefix = find(place, "prefixItems");
  const Json* items = find(place, "items");
  std::string_view first = "prefixItems", rest = "items";
  if (items != nullptr && items->as_array() != nullptr) {
    if (prefix != nullptr || place.draft == Draft::k2020) {
      fail(place, "items", "must be a schema: an object, true or false, and not an array");
    }
    prefix = items;
    first = "items";
    rest = "additionalItems";
  }
  if (prefix != nullptr) set.first = list(place, first, *prefix, false);
  set.evaluated = set.first.size();
  if (find(place, rest) != nullptr) {
    set.rest = keyword_formula(place, rest);
    set.evaluated = kNoLimit;
  }
  set.count_min = count(place, "minItems").value_or(0);
  set.count_max = count(place, "maxItems").value_or(kNoLimit);
  set.unique_source = {place.schema, "uniqueItems"};
  if (const Json* unique = find(place, "uniqueItems")) {
    if (unique->as_bool() == nullptr) fail(place, "uniqueItems", "must be true or false");
    set.is_unique = *unique->as_bool();
  }
  if (find(place, "contains") != nullptr) read_contains(place, set);
  if (!document_.has_unevaluated()) {
    set.evaluated = 0;
    set.evaluated_items.clear();
  }
}

void SchemaReader::read_contains(const Place& place, ArraySet& set) {
  const Contains bound = {.item = keyword_formula(place, "contains"),
                          .count_min = count(place, "minContains").value_or(1),
                          .count_max = count(place, "maxContains").value_or(kNoLimit),
                          .source = {place.schema, "contains"}};
  if (bound.item == kTrue) {
    set.count_min = std::max(set.count_min, bound.count_min);
    set.count_max = std::min(set.count_max, bound.count_max);
  } else if (bound.item == kFalse && bound.count_min > 0) {
    set.count_min = 1;
    set.count_max = 0;
  } else if (bound.count_min > bound.count_max) {
    set.count_min = 1;
    set.count_max = 0;
  } else if (bound.item != kFalse && (bound.count_min > 0 || bound.count_max != kNoLimit)) {
    set.contains.push_back(bound);
  }
  if (place.draft != Draft::k2019) set.evaluated_items.push_back(bound.item);
}

Shape SchemaReader::scalars(const Json& values) {
  Shape shape;
  std::vector<Decimal> numbers;
  std::vector<std::string> texts;
  for (const Json& value : *values.as_array()) {
    parts_.budget.spend();
    if (value.is_null()) {
      shape.has_null = true;
    } else if (const bool* flag = value.as_bool()) {
      (*flag ? shape.has_true : shape.has_false) = true;
    } else if (const std::string* text = value.as_string()) {
      texts.push_back(to_valid_utf8(*text));
    } else if (value.number().has_value()) {
      numbers.push_back(decimal_of(value));
    }
  }
  if (!numbers.empty()) shape.numbers.push_back({.allowed = std::move(numbers)});
  if (!texts.empty()) {
    shape.strings.push_back({.texts = parts_.texts.of_texts(std::move(texts))});
  }
  return shape;
}

Shape SchemaReader::constant(const Json& value) {
  Shape shape;
  if (const Json::Array* items = value.as_array()) {
    ArraySet set{.rest = kFalse, .count_min = items->size(), .count_max = items->size()};
    for (const Json& item : *items) set.first.push_back(parts_.formulas.constant(item));
    shape.arrays.push_back(std::move(set));
  } else if (const Json::Object* members = value.as_object()) {
    ObjectSet set{.rules = {{.value = kFalse}}};
    for (const auto& [name, member] : *members) {
      set.properties.push_back(
          {parts_.formulas.name_id(name), parts_.formulas.constant(member), true});
    }
    shape.objects.push_back(std::move(set));
  } else {
    Json list = Json::array();
    list.push(value);
    shape = scalars(list);
  }
  return shape;
}

}  // namespace ingot::schema
