// JsonKeys: reads typed members of a JSON object.
#include "load/json_keys.h"

#include "base/error.h"
#include "base/text.h"

namespace ingot {

std::string shown(const Json& value) {
  if (value.as_array() != nullptr || value.as_object() != nullptr) return std::string(value.kind());
  if (const auto* text = value.as_string()) return cat("'", printable(*text, 64), "'");
  return value.dump();
}

const Json* JsonKeys::get(std::string_view key) const {
  const Json* value = object_.find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::optional<std::int64_t> JsonKeys::integer(std::string_view key, std::int64_t min,
                                              std::int64_t max) const {
  const Json* value = get(key);
  if (value == nullptr) return std::nullopt;
  const std::int64_t* i = value->as_int();
  if (i == nullptr) refuse(key, *value, "expected an integer");
  if (*i < min || *i > max) refuse(key, *value, cat("accepted are ", min, " to ", max));
  return *i;
}

std::int64_t JsonKeys::required_integer(std::string_view key, std::int64_t min,
                                        std::int64_t max) const {
  const auto value = integer(key, min, max);
  if (!value) missing(key);
  return *value;
}

std::optional<double> JsonKeys::number(std::string_view key) const {
  const Json* value = get(key);
  if (value == nullptr) return std::nullopt;
  const auto number = value->number();
  if (!number) refuse(key, *value, "expected a number");
  return number;
}

double JsonKeys::required_number(std::string_view key) const {
  const auto value = number(key);
  if (!value) missing(key);
  return *value;
}

std::optional<bool> JsonKeys::boolean(std::string_view key) const {
  const Json* value = get(key);
  if (value == nullptr) return std::nullopt;
  const bool* b = value->as_bool();
  if (b == nullptr) refuse(key, *value, "expected true or false");
  return *b;
}

const std::string* JsonKeys::text(std::string_view key) const {
  const Json* value = get(key);
  if (value == nullptr) return nullptr;
  const std::string* s = value->as_string();
  if (s == nullptr) refuse(key, *value, "expected a string");
  return s;
}

const Json::Array* JsonKeys::array(std::string_view key) const {
  const Json* value = get(key);
  if (value == nullptr) return nullptr;
  const Json::Array* list = value->as_array();
  if (list == nullptr) refuse(key, *value, "expected an array");
  return list;
}

const std::string& JsonKeys::required_text(std::string_view key) const {
  const std::string* value = text(key);
  if (value == nullptr) missing(key);
  return *value;
}

const Json::Array& JsonKeys::required_array(std::string_view key) const {
  const Json::Array* value = array(key);
  if (value == nullptr) missing(key);
  return *value;
}

const Json* JsonKeys::object(std::string_view key) const {
  const Json* value = get(key);
  if (value != nullptr && value->as_object() == nullptr) refuse(key, *value, "expected an object");
  return value;
}

void JsonKeys::fail(std::string_view reason) const {
  throw model_error(file_, section_, 0, reason);
}

void JsonKeys::refuse(std::string_view key, const Json& value, std::string_view expectation) const {
  fail(cat(prefix_, key, " is ", shown(value), ", ", expectation));
}

void JsonKeys::missing(std::string_view key) const { fail(cat(prefix_, key, " is missing")); }

}  // namespace ingot
