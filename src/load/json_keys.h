// JsonKeys: reads typed members of a JSON object; its errors name the key and the value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "load/json.h"

namespace ingot {

/// `value` for an error message, on one line; "an array" or "an object" in place of large values.
std::string shown(const Json& value);

/// The members of an object in a configuration file. A member that is null counts as absent.
///
/// Errors: model_error(file, section, 0, ...) for a member of another type or out of range.
class JsonKeys {
 public:
  /// `prefix` precedes keys in messages: "rope_scaling.". `object` and `file` must outlive this.
  JsonKeys(const Json& object, const std::string& file, std::string prefix = "",
           std::string_view section = "config")
      : object_(object), file_(file), prefix_(std::move(prefix)), section_(section) {}

  const std::string& file() const { return file_; }
  const std::string& prefix() const { return prefix_; }

  /// The member; null if it is absent or JSON null.
  const Json* get(std::string_view key) const;
  /// Whether the object has the member, even if it is null.
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
  /// The member, which must be an object; null if it is absent.
  const Json* object(std::string_view key) const;
  const Json& required_object(std::string_view key) const;

  [[noreturn]] void fail(std::string_view reason) const;
  /// Throws the error "<key> is <value>, <expectation>".
  [[noreturn]] void refuse(std::string_view key, const Json& value,
                           std::string_view expectation) const;
  /// Throws "<key> is <value>, <expectation>" for the member `key`, which must exist.
  [[noreturn]] void refuse(std::string_view key, std::string_view expectation) const {
    refuse(key, *object_.find(key), expectation);
  }
  [[noreturn]] void missing(std::string_view key) const;

 private:
  /// The member as the type that `as` returns; null if it is absent.
  template <class T>
  const T* typed(std::string_view key, const T* (Json::*as)() const,
                 std::string_view expectation) const;
  /// Returns `value`. If it is absent, throws the error that the key is missing (`missing`).
  template <class T>
  T present(std::string_view key, T value) const;

  const Json& object_;
  const std::string& file_;
  std::string prefix_;
  std::string section_;
};

}  // namespace ingot
