// Params: reads the members of a request's body. Each member is read, refused or reported in a
// warning.
#pragma once

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
  /// `object` outlives this; `prefix` stands before the names of its members. Errors: ApiError
  /// where it is no object.
  explicit Params(const Json& object, std::string prefix = {});

  /// The member; null where it is absent.
  const Json* take(std::string_view name);
  /// Whether it is there, without reading it.
  bool has(std::string_view name) const;

  /// The member's value, or nothing where it is absent. Errors: ApiError naming the member, for
  /// another kind or a value out of range.
  std::optional<bool> flag(std::string_view name);
  std::optional<std::int64_t> whole(std::string_view name, std::int64_t low, std::int64_t high);
  std::optional<double> real(std::string_view name, double low, double high);
  std::optional<std::string> text(std::string_view name, std::size_t bytes_max);
  std::optional<std::string> one_of(std::string_view name,
                                    std::initializer_list<std::string_view> values);
  /// The member, which has to be an array or an object; null where it is absent. Errors: ApiError
  /// for another kind.
  const Json* array(std::string_view name);
  const Json* object(std::string_view name);
  /// Lets `read` take the members of a member that is an object; their names are "name.member", and
  /// their warnings are added to these. Errors: ApiError for another kind.
  void within(std::string_view name, const std::function<void(Params&)>& read);

  /// Warns that a member has no effect, where it is present.
  void ignore(std::string_view name, std::string_view why);
  /// `ignore` for a string of at most `bytes_max` bytes, and for an object. Errors: ApiError for
  /// another kind.
  void ignore_text(std::string_view name, std::size_t bytes_max, std::string_view why);
  void ignore_object(std::string_view name, std::string_view why);
  /// Throws an ApiError where the member is present.
  void refuse(std::string_view name, std::string_view why);
  /// Adds a warning to the response.
  void warn(std::string_view param, std::string_view code, std::string_view detail);

  /// Warns about the members that were not read. Called last.
  void finish();
  /// [{"param", "code", "detail"}]; null where there are none.
  const Json& warnings() const { return warnings_; }

 private:
  std::string full(std::string_view name) const;
  [[noreturn]] void refuse_kind(std::string_view name, const Json& value,
                                std::string_view expected) const;

  const Json& object_;
  std::string prefix_;
  std::set<std::string_view> known_;
  Json warnings_;
};

}  // namespace ingot
