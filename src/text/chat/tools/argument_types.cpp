// ArgumentTypes: walks the keywords of a schema that restrict types.
#include "text/chat/tools/argument_types.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace ingot {

const Json* resolve_reference(const Json& root, std::string_view reference) {
  if (!reference.starts_with('#') || reference.find('%') != std::string_view::npos) return nullptr;
  reference.remove_prefix(1);
  const Json* part = &root;
  while (part != nullptr && !reference.empty()) {
    if (reference.front() != '/') return nullptr;
    reference.remove_prefix(1);
    std::string key;
    for (; !reference.empty() && reference.front() != '/'; reference.remove_prefix(1)) {
      if (key.ends_with('~') && (reference.front() == '0' || reference.front() == '1')) {
        key.back() = reference.front() == '0' ? '\x7f' : '/';  // "~01" is "~1"
      } else {
        key += reference.front();
      }
    }
    for (char& c : key) c = c == '\x7f' ? '~' : c;
    part = part->find(key);
  }
  return part;
}

const Json& any_schema() {
  static const Json kAnything(true);
  return kAnything;
}

bool ignores_siblings(const Json& root) {
  const std::string* draft = root.find_string("$schema");
  if (draft == nullptr || draft->find("json-schema.org") == std::string::npos) return false;
  const auto is_of = [draft](std::string_view name) {
    return draft->find(name) != std::string::npos;
  };
  return is_of("draft-04") || is_of("draft-06") || is_of("draft-07");
}

namespace {

JsonTypes named_types(std::string_view name) {
  using namespace json_type;
  constexpr std::pair<std::string_view, JsonTypes> kNames[] = {
      {"null", kNull},       {"boolean", kBoolean},
      {"integer", kInteger}, {"number", kInteger | kFraction},
      {"array", kArray},     {"object", kObject},
      {"string", kString}};
  for (const auto& [known, types] : kNames) {
    if (known == name) return types;
  }
  return kAll;
}

JsonTypes types_of_value(const Json& value) {
  using namespace json_type;
  if (value.is_null()) return kNull;
  if (value.as_bool() != nullptr) return kBoolean;
  if (value.as_string() != nullptr) return kString;
  if (value.as_array() != nullptr) return kArray;
  return value.as_object() != nullptr ? kObject : kInteger | kFraction;
}

class TypeFinder {
 public:
  explicit TypeFinder(const Json& root) : root_(root), is_old_(ignores_siblings(root)) {}

  /// The work that was done.
  std::uint64_t steps() const { return kStepsMax - left_; }

  JsonTypes find(const Json& schema, int depth = 0) {
    using json_type::kAll;
    constexpr int kDepthMax = 16;
    if (const bool* is_all = schema.as_bool()) return *is_all ? kAll : 0U;
    if (depth > kDepthMax || left_ == 0) return kAll;
    --left_;
    JsonTypes found = &schema == &root_ ? json_type::kObject : kAll;  // arguments are an object
    if (const std::string* reference = schema.find_string("$ref")) {
      left_ -= std::min<std::uint64_t>(left_, reference->size() / 16);
      if (const Json* target = resolve_reference(root_, *reference)) {
        found &= find(*target, depth + 1);
      }
      if (is_old_) return found;
    }
    if (const Json* type = schema.find("type")) found &= of_type(*type);
    if (const Json* constant = schema.find("const")) found &= types_of_value(*constant);
    if (const Json::Array* values = list(schema, "enum")) {
      JsonTypes any = 0;
      for (const Json& value : *values) any |= types_of_value(value);
      found &= any;
    }
    if (const Json::Array* parts = list(schema, "allOf")) {
      for (const Json& part : *parts) found &= find(part, depth + 1);
    }
    for (const std::string_view key : {"anyOf", "oneOf"}) {
      const Json::Array* parts = list(schema, key);
      if (parts == nullptr) continue;
      JsonTypes any = 0;
      for (const Json& part : *parts) any |= find(part, depth + 1);
      found &= any;
    }
    return found;
  }

 private:
  static const Json::Array* list(const Json& schema, std::string_view key) {
    const Json* member = schema.find(key);
    return member == nullptr ? nullptr : member->as_array();
  }
  static JsonTypes of_type(const Json& type) {
    if (const std::string* name = type.as_string()) return named_types(*name);
    JsonTypes any = 0;
    for (const Json& name : type.as_array() != nullptr ? *type.as_array() : Json::Array()) {
      any |= name.as_string() != nullptr ? named_types(*name.as_string()) : json_type::kAll;
    }
    return any;
  }

  static constexpr std::uint64_t kStepsMax = 10'000;

  const Json& root_;
  bool is_old_;
  std::uint64_t left_ = kStepsMax;  // schemas to look at: what lies beyond has any type
};

}  // namespace

ArgumentsSchema arguments_schema(const Json& parameters) {
  ArgumentsSchema found{.schema = &parameters};
  constexpr int kStepsMax = 16;
  for (int i = 0; i < kStepsMax && found.schema->find("properties") == nullptr; ++i) {
    const std::string* reference = found.schema->find_string("$ref");
    const Json* target = reference == nullptr ? nullptr : resolve_reference(parameters, *reference);
    if (target == nullptr || target->as_object() == nullptr) break;
    found = {.schema = target, .pointer = reference->substr(1)};
  }
  return found;
}

JsonTypes value_types(const Json& root, const Json& schema, CompileBudget* budget) {
  TypeFinder finder(root);
  const JsonTypes types = finder.find(schema);
  if (budget != nullptr) budget->spend(finder.steps());
  return types;
}

std::vector<JsonTypes> types_of_each(const Json& root, const Json::Array& schemas,
                                     CompileBudget* budget) {
  TypeFinder finder(root);
  std::vector<JsonTypes> types;
  for (const Json& schema : schemas) types.push_back(finder.find(schema));
  if (budget != nullptr) budget->spend(schemas.size() + finder.steps());
  return types;
}

ArgumentTypes::ArgumentTypes(const Json& parameters) {
  const Json& schema = *arguments_schema(parameters).schema;
  TypeFinder finder(parameters);
  const Json* properties = schema.find("properties");
  if (properties != nullptr && properties->as_object() != nullptr) {
    for (const auto& [name, property] : *properties->as_object()) {
      declared_.emplace(name, readable(finder.find(property)));
    }
  }
  const Json* others = schema.find("additionalProperties");
  if (others != nullptr && schema.find("patternProperties") == nullptr) {
    others_ = readable(finder.find(*others));
  }
}

}  // namespace ingot
