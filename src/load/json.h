// Json: parses untrusted JSON within limits on depth, nodes and size, and writes JSON. The parser
// refuses duplicate keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace ingot {

/// A JSON value. Objects keep the order of their keys. Integers from -2^63 to 2^64 - 1 keep their
/// exact value.
class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;

  Json() = default;  ///< makes a JSON null
  // Implicit, so that code can pass plain values: object.set("layers", 4).
  // NOLINTBEGIN(google-explicit-constructor)
  Json(bool b) : value_(b) {}
  Json(std::int64_t i) : value_(i) {}
  Json(int i) : value_(std::int64_t{i}) {}
  Json(std::uint64_t u);
  Json(double d) : value_(d) {}
  Json(std::string s) : value_(std::move(s)) {}
  Json(std::string_view s) : value_(std::string(s)) {}
  Json(const char* s) : value_(std::string(s)) {}
  // NOLINTEND(google-explicit-constructor)
  static Json array() { return Json(Value(Array{})); }
  static Json object() { return Json(Value(Object{})); }

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  const bool* as_bool() const { return std::get_if<bool>(&value_); }
  /// Returns the value if it is an integer from -2^63 to 2^63 - 1; otherwise null.
  const std::int64_t* as_int() const { return std::get_if<std::int64_t>(&value_); }
  /// Returns the value if it is an integer from 0 to 2^64 - 1; otherwise nothing.
  std::optional<std::uint64_t> as_uint() const;
  const double* as_double() const { return std::get_if<double>(&value_); }
  const std::string* as_string() const { return std::get_if<std::string>(&value_); }
  const Array* as_array() const { return std::get_if<Array>(&value_); }
  const Object* as_object() const { return std::get_if<Object>(&value_); }
  /// Returns an integer or a double as a double; nothing for other types.
  std::optional<double> number() const;
  /// Returns a whole number from -2^63 to 2^63 - 1, also one with a fraction of zeros or an
  /// exponent: 4.0, 1e1. Such a number has at most the magnitude 2^53, because the parser may have
  /// rounded larger ones. Otherwise, returns nothing.
  std::optional<std::int64_t> whole() const;
  /// Returns the type's name for messages: "null", "a boolean", "an integer", "a number", "a
  /// string", "an array" or "an object".
  std::string_view kind() const;

  /// Returns the member `key`; null if it is absent, or if this value is not an object.
  const Json* find(std::string_view key) const;
  /// Returns the member `key` if it is a string; otherwise null.
  const std::string* find_string(std::string_view key) const;

  /// `push` appends to an array, `set` appends to an object. A call on any other type is a bug.
  Json& push(Json element);
  Json& set(std::string key, Json member);

  /// Returns the value as JSON text, on one line if `indent` is 0. Invalid UTF-8 becomes U+FFFD;
  /// NaN and infinities become null.
  std::string dump(int indent = 0) const;

 private:
  /// An integer above INT64_MAX is a std::uint64_t; any other integer is a std::int64_t.
  using Value = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string,
                             Array, Object>;
  explicit Json(Value v) : value_(std::move(v)) {}
  Value value_;
};

/// Limits on an untrusted document. The parser fails if a document exceeds any limit.
struct JsonLimits {
  std::uint64_t bytes_max = 100'000'000;
  std::int32_t depth_max = 64;
  std::uint64_t nodes_max = 4'000'000;
  std::uint64_t string_bytes_max = 16'777'216;
};

/// Parses one document. White space may surround it; comments and a byte order mark are errors.
///
/// Units:  `base_offset` is the byte of the file at which `text` begins. Errors give file offsets.
/// Errors: model_error(file, section, offset, reason) for malformed text, invalid UTF-8, duplicate
///         keys, numbers beyond a double's range, or an exceeded limit.
Json parse_json(std::string_view text, const std::string& file, const std::string& section,
                const JsonLimits& limits = {}, std::uint64_t base_offset = 0);

/// Parses a file's document. Works as `parse_json`, but passes over a byte order mark at the start.
Json parse_json_file(std::string_view text, const std::string& file, const std::string& section,
                     const JsonLimits& limits = {});

/// Appends `text` to `out` as a JSON string with quotes. Invalid UTF-8 becomes U+FFFD.
void append_json(std::string& out, std::string_view text);

}  // namespace ingot
