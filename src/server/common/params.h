// The members of a request's body: each is read, refused, or reported, none is passed over in
// silence.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "load/json.h"
#include "server/http/handler.h"

namespace ingot {

/// Reads the members of one JSON object. A member that is null counts as absent.
class Params {
 public:
  /// `object` outlives this; `prefix` stands before the names of its members. Errors: ApiError for
  /// what is no object.
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
  /// The member where it is an array or an object; null where it is absent. Errors: the same.
  const Json* array(std::string_view name);
  const Json* object(std::string_view name);
  /// Lets `read` take the members of a member that is an object, as "name.member". What is reported
  /// of them is reported here. Errors: the same.
  void within(std::string_view name, const std::function<void(Params&)>& read);

  /// A member that changes nothing here: reported where it is there.
  void ignore(std::string_view name, std::string_view why);
  /// The same for a string of this length, and for an object. Errors: ApiError for another kind.
  void ignore_text(std::string_view name, std::size_t bytes_max, std::string_view why);
  void ignore_object(std::string_view name, std::string_view why);
  /// A member that cannot be honoured. Errors: ApiError where it is there.
  void refuse(std::string_view name, std::string_view why);
  /// Reports something in the response's warnings.
  void warn(std::string_view param, std::string_view code, std::string_view detail);

  /// Reports the members that nobody asked for. After all others.
  void finish();
  /// [{"param", "code", "detail"}]; null where there is nothing to say.
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

/// Calls `body`, and gives what it finds wrong as an error of the API that names the parameter,
/// with which such messages begin.
template <class Body>
auto as_api(Body&& body) {
  try {
    return body();
  } catch (const Error& error) {
    throw api_error(error);
  }
}

}  // namespace ingot
