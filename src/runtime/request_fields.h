// The table of request fields: names, types, ranges, defaults, and the places that take each field.
// JSON bodies and lines, flags, /set, session files, the public API and the docs use this table.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/function_ref.h"
#include "load/config.h"
#include "load/json.h"
#include "runtime/request.h"

struct ingot_request;
namespace ingot::api {
struct Sampling;
}

namespace ingot {

/// A set of places where users can give a field. Each place is one bit.
using Places = std::uint32_t;

namespace place {
inline constexpr Places kRun = 1 << 0;          ///< flags of `ingot run`
inline constexpr Places kTalk = 1 << 1;         ///< flags of `ingot chat`
inline constexpr Places kSet = 1 << 2;          ///< command /set in `ingot chat`
inline constexpr Places kLine = 1 << 3;         ///< lines of `ingot run --jsonl`
inline constexpr Places kChat = 1 << 4;         ///< POST /v1/chat/completions
inline constexpr Places kCompletions = 1 << 5;  ///< POST /v1/completions
inline constexpr Places kResponses = 1 << 6;    ///< POST /v1/responses
inline constexpr Places kMessages = 1 << 7;     ///< POST /v1/messages
inline constexpr Places kEmbeddings = 1 << 8;   ///< POST /v1/embeddings
inline constexpr Places kSession = 1 << 9;      ///< session files
inline constexpr Places kModel = 1 << 10;       ///< the model's files

inline constexpr Places kFlags = kRun | kTalk;
inline constexpr Places kOpenAi = kChat | kCompletions | kResponses;
inline constexpr Places kHttp = kOpenAi | kMessages;  ///< the endpoints that generate text
}  // namespace place

/// A member of SamplingParams, and the public C++ and C members from which api/ copies its value.
/// `cpp` and `c` are null if code in api/ converts the value.
template <class T>
struct InSampling {
  T SamplingParams::*member = nullptr;
  T api::Sampling::*cpp = nullptr;
  T ingot_request::*c = nullptr;
};

/// The member of Request or SamplingParams that stores a field's value. Doubles are seconds, but
/// milliseconds in JSON. std::monostate: no member; each place has its own code for the field.
using FieldMember =
    std::variant<std::monostate, InSampling<float>, InSampling<std::int32_t>,
                 InSampling<std::int64_t>, InSampling<std::uint32_t>, InSampling<std::uint64_t>,
                 InSampling<std::vector<LogitBias>>, InSampling<std::vector<std::int32_t>>,
                 InSampling<std::vector<std::string>>, std::int32_t Request::*,
                 std::int64_t Request::*, double Request::*, bool Request::*,
                 std::vector<std::string> Request::*, std::vector<std::int32_t> Request::*>;

template <class T>
inline constexpr auto kMost = static_cast<double>(std::numeric_limits<T>::max());

/// The numbers that a field may have: from `low` to `high`, but not `low` if `is_above_low`.
struct FieldRange {
  double low = 0;
  double high = 0;
  bool is_above_low = false;  ///< true: values must be above `low`; false: `low` is valid
};

/// Converts a bound of a range to the field's type T. Clamps the bound to the values of T.
template <class T>
constexpr T bound(double value) {
  using Limits = std::numeric_limits<T>;
  if (value >= kMost<T>) return Limits::max();
  if (value <= static_cast<double>(Limits::lowest())) return Limits::lowest();
  return static_cast<T>(value);
}

/// A range or default that a field has only at some of its places.
struct FieldVariation {
  Places places = 0;
  std::optional<FieldRange> range{};
  std::optional<double> initial{};  ///< default value; empty: this entry sets no default
};

/// Another name of a field at some of its places: JSON members and flags, but no files.
struct FieldAlias {
  std::string_view name;
  Places places = 0;
};

/// A request field. All places that use the field's name share this entry.
struct RequestField {
  std::string_view name;  ///< name in JSON; also the flag's name, with hyphens for underscores
  FieldMember member{};
  Places places = 0;
  FieldRange range{};  ///< range of possible numbers
  std::string_view help{};
  std::string_view gguf{};                       ///< key in GGUF files after "general.sampling."
  std::span<const FieldVariation> variations{};  ///< the first entry with a place counts there
  Places read_apart = 0;                         ///< places that read the field with their own code
  std::string_view flag{};                       ///< the flag's name; empty: made from `name`
  std::span<const FieldAlias> aliases{};
  std::string_view type{};  ///< the type in the docs; empty: that of `member`
};

/// Returns all fields, in the order of help and docs.
std::span<const RequestField> request_fields();
/// Returns the field with this name or alias at one of these places; null if there is none.
const RequestField* find_field(std::string_view name, Places places);
/// Returns the range of a field's values at a place.
FieldRange range_at(const RequestField& field, Places where);
/// Returns the flag of a field, such as "--min-tokens".
std::string flag_of(const RequestField& field);
/// Returns the names of a field at these places: its name, then its aliases.
std::vector<std::string_view> names_at(const RequestField& field, Places places);
/// Returns the flags of a field at a command: "--repetition-penalty,--repeat-penalty".
std::string flags_of(const RequestField& field, Places command);

/// Calls `use` once, with a field's value in each request. Does nothing if the field has no member.
template <class Use, class... Requests>
void with_value(const RequestField& field, Use&& use, Requests&... requests) {
  const auto visit = [&]<class Member>(const Member& at) {
    if constexpr (requires { at.member; }) {
      use(requests.sampling.*at.member...);
    } else if constexpr (std::is_member_pointer_v<Member>) {
      use(requests.*at...);
    }
  };
  std::visit(visit, field.member);
}

/// Calls `use` with the InSampling of each field whose value is also a member of api::Sampling.
template <class Use>
void each_public_field(Use&& use) {
  for (const RequestField& field : request_fields()) {
    const auto visit = [&]<class Member>(const Member& at) {
      if constexpr (requires { at.cpp; }) {
        if (at.cpp != nullptr) use(at);
      }
    };
    std::visit(visit, field.member);
  }
}

/// Makes a request with the default values of a place.
Request default_request(Places where);
/// Sets a field from JSON. Checks the value's type, and its range at the place `where`.
///
/// Errors: Error{kInvalid}: "top_p is a string, expected a number", "top_p is 2, possible are ...".
void set_field(Request& request, const RequestField& field, const Json& value, Places where);
/// Like `set_field`, for an object that may have the field under several names. `find` returns the
/// object's member of a name, or null. Does nothing if `find` finds no name of the field.
///
/// Errors: as `set_field`, and Error{kInvalid} if two names have different values.
void set_named_field(Request& request, const RequestField& field, Places where,
                     FunctionRef<const Json*(std::string_view name)> find);
/// Sets the fields for which the model's files have values. Other fields keep their values, as do
/// fields whose stated value is wrong: a default never refuses a model. Returns a line for each
/// wrong value; an Instance has these lines among its warnings.
std::vector<std::string> set_model_defaults(Request& request, const Config& config,
                                            const std::string& file);
/// Copies a field from one request to another.
void copy_field(const RequestField& field, Request& to, const Request& from);
/// Returns a field's value as JSON. From this JSON, `set_field` sets an equal value.
Json field_json(const RequestField& field, const Request& request);
/// Returns a field's value as text for users, with the fewest digits that identify the value.
std::string field_text(const RequestField& field, const Request& request);

/// Sorts biases by id.
///
/// Errors: Error{kInvalid} that names the field `name` if a token has two biases.
void sort_biases(std::vector<LogitBias>& biases, std::string_view name);

/// Checks sampling parameters against their ranges, and token ids against a vocabulary of `ids`.
///
/// Errors: Error{kInvalid} that names the field, its value and the possible values.
void check_sampling(const SamplingParams& params, std::int64_t ids);

}  // namespace ingot
