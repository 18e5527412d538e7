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

template <class T>
const T* JsonKeys::typed(std::string_view key, const T* (Json::*as)() const,
                         std::string_view expectation) const {
  const Json* value = get(key);
  if (value == nullptr) return nullptr;
  const T* typed = (value->*as)();
  if (typed == nullptr) refuse(key, expectation);
  return typed;
}

template <class T>
T JsonKeys::present(std::string_view key, T value) const {
  if (!value) missing(key);
  return value;
}

std::optional<std::int64_t> JsonKeys::integer(std::string_view key, std::int64_t min,
                                              std::int64_t max) const {
  const std::int64_t* i = typed(key, &Json::as_int, "expected an integer");
  if (i == nullptr) return std::nullopt;
  if (*i < min || *i > max) refuse(key, cat("accepted are ", min, " to ", max));
  return *i;
}

std::int64_t JsonKeys::required_integer(std::string_view key, std::int64_t min,
                                        std::int64_t max) const {
  return *present(key, integer(key, min, max));
}

std::optional<double> JsonKeys::number(std::string_view key) const {
  const Json* value = get(key);
  if (value == nullptr) return std::nullopt;
  const auto number = value->number();
  if (!number) refuse(key, "expected a number");
  return number;
}

double JsonKeys::required_number(std::string_view key) const { return *present(key, number(key)); }

std::optional<bool> JsonKeys::boolean(std::string_view key) const {
  const bool* b = typed(key, &Json::as_bool, "expected true or false");
  return b == nullptr ? std::nullopt : std::optional(*b);
}

const std::string* JsonKeys::text(std::string_view key) const {
  return typed(key, &Json::as_string, "expected a string");
}

const std::string& JsonKeys::required_text(std::string_view key) const {
  return *present(key, text(key));
}

const Json::Array* JsonKeys::array(std::string_view key) const {
  return typed(key, &Json::as_array, "expected an array");
}

const Json::Array& JsonKeys::required_array(std::string_view key) const {
  return *present(key, array(key));
}

const Json* JsonKeys::object(std::string_view key) const {
  return typed(key, &Json::as_object, "expected an object") == nullptr ? nullptr : get(key);
}

const Json& JsonKeys::required_object(std::string_view key) const {
  return *present(key, object(key));
}

void JsonKeys::fail(std::string_view reason) const { throw model_error(file_, section_, reason); }

void JsonKeys::refuse(std::string_view key, const Json& value, std::string_view expectation) const {
  fail(cat(prefix_, key, " is ", shown(value), ", ", expectation));
}

void JsonKeys::missing(std::string_view key) const { fail(cat(prefix_, key, " is missing")); }

}  // namespace ingot
