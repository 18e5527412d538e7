// JsonKeys: reads typed members of a JSON object; its errors name the key and the value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "load/json.h"

namespace ingot {

/// Formats `value` for an error message, on one line. An array or object becomes its type's name.
std::string shown(const Json& value);

/// Reads the members of an object in a configuration file. A member that is null counts as absent.
///
/// Errors: model_error(file, section, ...) if a member has a wrong type or is out of range.
class JsonKeys {
 public:
  /// Errors put `prefix` ("rope_scaling.") before keys. `object` and `file` must outlive JsonKeys.
  JsonKeys(const Json& object, const std::string& file, std::string prefix = "",
           std::string_view section = "config")
      : object_(object), file_(file), prefix_(std::move(prefix)), section_(section) {}

  const std::string& file() const { return file_; }
  const std::string& prefix() const { return prefix_; }
  /// Returns all members, in the file's order. The value must be an object.
  const Json::Object& members() const { return *object_.as_object(); }

  /// Returns the member `key`; null if it is absent or JSON null.
  const Json* get(std::string_view key) const;
  /// Returns whether the object has the member `key`, even if the member is null.
  bool mentions(std::string_view key) const { return object_.find(key) != nullptr; }

  std::optional<std::int64_t> integer(std::string_view key, std::int64_t min,
                                      std::int64_t max) const;
  std::int64_t required_integer(std::string_view key, std::int64_t min, std::int64_t max) const;
  std::optional<double> number(std::string_view key) const;
  double required_number(std::string_view key) const;
  std::optional<bool> boolean(std::string_view key) const;
  const std::string* text(std::string_view key) const;
  const std::string& required_text(std::string_view key) const;
  const Json::Array* array(std::string_view key) const;
  const Json::Array& required_array(std::string_view key) const;
  /// Returns the member `key`, which must be an object; null if it is absent.
  const Json* object(std::string_view key) const;
  const Json& required_object(std::string_view key) const;

  [[noreturn]] void fail(std::string_view reason) const;
  /// Throws the error "<key> is <value>, <expectation>".
  [[noreturn]] void refuse(std::string_view key, const Json& value,
                           std::string_view expectation) const;
  /// Throws "<key> is <value>, <expectation>". The object must have the member `key`.
  [[noreturn]] void refuse(std::string_view key, std::string_view expectation) const {
    refuse(key, *object_.find(key), expectation);
  }
  [[noreturn]] void missing(std::string_view key) const;

 private:
  /// Returns the member `key` as a T, converted by `as`; null if the member is absent.
  template <class T>
  const T* typed(std::string_view key, const T* (Json::*as)() const,
                 std::string_view expectation) const;
  /// Returns `value` if it is present; otherwise calls `missing(key)`, which throws an error.
  template <class T>
  T present(std::string_view key, T value) const;

  const Json& object_;
  const std::string& file_;
  std::string prefix_;
  std::string section_;
};

}  // namespace ingot
