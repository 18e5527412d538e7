// The table of request fields: names, types, bounds, defaults, and the places that take each one.
// JSON bodies and lines, flags, /set, session files, the public API and the docs are made from it.
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

#include "load/config.h"
#include "load/json.h"
#include "runtime/request.h"

struct ingot_request;
namespace ingot::api {
struct Sampling;
}

namespace ingot {

/// A set of places where fields are given, one bit each.
using Places = std::uint32_t;

namespace place {
inline constexpr Places kRun = 1 << 0;          ///< flags of `ingot run`
inline constexpr Places kTalk = 1 << 1;         ///< flags of `ingot chat`
inline constexpr Places kSet = 1 << 2;          ///< /set in `ingot chat`
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

/// A member of SamplingParams and the member of the public structs that is translated to it; null
/// where the translation is written out in api/.
template <class T>
struct InSampling {
  T SamplingParams::*member = nullptr;
  T api::Sampling::*cpp = nullptr;
  T ingot_request::*c = nullptr;
};

/// Where a field's value is kept. A double is in seconds, and in JSON in milliseconds. Nothing:
/// the place that takes the field reads it itself.
using FieldMember =
    std::variant<std::monostate, InSampling<float>, InSampling<std::int32_t>,
                 InSampling<std::int64_t>, InSampling<std::uint32_t>, InSampling<std::uint64_t>,
                 InSampling<std::vector<LogitBias>>, InSampling<std::vector<std::int32_t>>,
                 std::int32_t Request::*, std::int64_t Request::*, double Request::*,
                 bool Request::*, std::vector<std::string> Request::*,
                 std::vector<std::int32_t> Request::*>;

template <class T>
inline constexpr auto kMost = static_cast<double>(std::numeric_limits<T>::max());

/// The numbers that a field can be.
struct FieldRange {
  double low = 0;
  double high = 0;
  bool is_above_low = false;  ///< `low` itself is not possible
};

/// A bound of a range as the nearest value of the field's type.
template <class T>
constexpr T bound(double value) {
  using Limits = std::numeric_limits<T>;
  if (value >= kMost<T>) return Limits::max();
  if (value <= static_cast<double>(Limits::lowest())) return Limits::lowest();
  return static_cast<T>(value);
}

/// What differs at some of a field's places.
struct FieldVariation {
  Places places = 0;
  std::optional<FieldRange> range{};
  std::optional<double> initial{};  ///< the default
};

/// One field at the places where it has this name.
struct RequestField {
  std::string_view name;  ///< its member in JSON; its flag has hyphens for the underscores
  FieldMember member{};
  Places places = 0;
  FieldRange range{};  ///< of numbers
  std::string_view help{};
  std::string_view gguf{};  ///< GGUF's key behind "general.sampling."; its JSON name is `name`
  std::span<const FieldVariation> variations{};  ///< the first one that has the place counts
  Places read_apart = 0;                         ///< places that read it with code of their own
  std::string_view flag{};                       ///< where the name does not make it
};

/// All fields, in the order of help and docs.
std::span<const RequestField> request_fields();
/// The field that has a name at one of these places; null where there is none.
const RequestField* find_field(std::string_view name, Places places);
/// The numbers that a field can be at a place.
FieldRange range_at(const RequestField& field, Places where);
/// "--min-tokens"
std::string flag_of(const RequestField& field);

/// Calls `use` with the field's value in each of the requests: a number, a bool or a vector.
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

/// Calls `use` with the InSampling of each field that the public API's Sampling has.
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

/// A request with the defaults of a place.
Request default_request(Places where);
/// Sets a field to what JSON says, within its range at a place.
///
/// Errors: Error{kInvalid}: "top_p is a string, expected a number", "top_p is 2, possible are ...".
void set_field(Request& request, const RequestField& field, const Json& value, Places where);
/// Sets the fields that the model's files state; the others keep their values.
///
/// Errors: model_error(file, "config", 0, ...) naming the setting, its value and what is possible.
void set_model_defaults(Request& request, const Config& config, const std::string& file);
/// Copies a field from one request to another.
void copy_field(const RequestField& field, Request& to, const Request& from);
/// The value as JSON, from which `set_field` makes an equal one.
Json field_json(const RequestField& field, const Request& request);
/// The value in the fewest digits, for people.
std::string field_text(const RequestField& field, const Request& request);

/// Brings biases into the order that SamplingParams have.
///
/// Errors: Error{kInvalid} for a token that has two, naming `name`.
void sort_biases(std::vector<LogitBias>& biases, std::string_view name);

/// Checks every member against its range and the vocabulary of `ids` tokens.
///
/// Errors: Error{kInvalid} naming the field, its value and what is possible.
void check_sampling(const SamplingParams& params, std::int64_t ids);

}  // namespace ingot
