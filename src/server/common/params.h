// Params: reads the JSON members of a request's body. It refuses wrong values and warns about
// members that nothing reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "load/json.h"
#include "server/common/api_error.h"

namespace ingot {

/// Reads the members of one JSON object. A member that is null counts as absent.
class Params {
 public:
  /// `object` must outlive this object. Error messages put `prefix` before the names of members.
  /// Errors: ApiError if `object` is not a JSON object.
  explicit Params(const Json& object, std::string prefix = {});

  /// Returns the member and marks it as read; null if the member is absent.
  const Json* take(std::string_view name);
  /// Returns whether the member is present. Does not mark it as read.
  bool has(std::string_view name) const;
  /// Returns whether the member is present and null.
  bool is_null(std::string_view name) const;

  /// Returns the member's value; nothing if it is absent. Errors: ApiError naming the member if its
  /// type is wrong or its value out of range. Whole numbers may have the forms 4.0 and 1e1.
  std::optional<bool> flag(std::string_view name);
  std::optional<std::int64_t> whole(std::string_view name, std::int64_t low, std::int64_t high);
  std::optional<double> real(std::string_view name, double low, double high);
  std::optional<std::string> text(std::string_view name, std::size_t bytes_max);
  std::optional<std::string> one_of(std::string_view name,
                                    std::initializer_list<std::string_view> values);
  /// `array` returns a member that must be an array, and `object` one that must be an object. Both
  /// return null if the member is absent. Errors: ApiError for another type.
  const Json* array(std::string_view name);
  const Json* object(std::string_view name);
  /// If the object `name` is present, calls `read` with its members. Errors and warnings name such
  /// a member "name.member". Adds the warnings of `read` here. Errors: ApiError for another type.
  void within(std::string_view name, const std::function<void(Params&)>& read);

  /// If the member is present, warns that it has no effect.
  void ignore(std::string_view name, std::string_view why);
  /// Like `ignore`. For `ignore_text`, the member must be a string of at most `bytes_max` bytes;
  /// for `ignore_object`, an object. Errors: ApiError for another type or a longer string.
  void ignore_text(std::string_view name, std::size_t bytes_max, std::string_view why);
  void ignore_object(std::string_view name, std::string_view why);
  /// Throws an ApiError if the member is present.
  void refuse(std::string_view name, std::string_view why);
  /// Adds a warning to the response.
  void warn(std::string_view param, std::string_view code, std::string_view detail);
  /// Adds a warning, unless this function has added one with this param and code.
  void warn_once(std::string_view param, std::string_view code, std::string_view detail);

  /// Returns a member's name for messages, with the prefix: "stream_options.include_usage".
  std::string full(std::string_view name) const;
  /// Warns about the members that were not read. Call it last.
  void finish();
  /// Adds the warnings of another object, which is a part of this one.
  void add_warnings(const Params& part);
  /// Returns the warnings: [{"param", "code", "detail"}]; null if there are none. The last of many
  /// has the code "more" and counts the others.
  Json warnings() const;

 private:
  [[noreturn]] void refuse_kind(std::string_view name, const Json& value,
                                std::string_view expected) const;
  void add_warning(Json warning);

  const Json& object_;
  std::string prefix_;
  std::set<std::string_view> known_;
  std::set<std::string> warned_;  ///< warnings of `warn_once`
  Json warnings_;
  std::size_t more_warnings_ = 0;  ///< warnings that are only counted
};

}  // namespace ingot
