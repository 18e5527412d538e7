// Params: checks the types and ranges of a body's members, and collects warnings.
#include "server/common/params.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "load/json_object.h"

namespace ingot {

namespace {

/// Maximum warnings about unknown members, since an attacker could send any number.
constexpr std::size_t kUnknownMax = 32;
/// Maximum warnings. A list of many entries could have some for each of them.
constexpr std::size_t kWarningsMax = 256;

}  // namespace

Params::Params(const Json& object, std::string prefix)
    : object_(object), prefix_(std::move(prefix)) {
  if (object.as_object() == nullptr) {
    throw ApiError(400, "invalid_body", cat("the body is ", object.kind(), ", expected an object"));
  }
}

const Json* Params::take(std::string_view name) {
  const Json* member = object_.find(name);
  if (member != nullptr) known_.insert(name);
  return member == nullptr || member->is_null() ? nullptr : member;
}

bool Params::has(std::string_view name) const {
  const Json* member = object_.find(name);
  return member != nullptr && !member->is_null();
}

bool Params::is_null(std::string_view name) const {
  const Json* member = object_.find(name);
  return member != nullptr && member->is_null();
}

std::string Params::full(std::string_view name) const { return cat(prefix_, name); }

void Params::refuse_kind(std::string_view name, const Json& value,
                         std::string_view expected) const {
  throw invalid_request(full(name), cat(full(name), " is ", value.kind(), ", expected ", expected));
}

std::optional<bool> Params::flag(std::string_view name) {
  const Json* value = take(name);
  if (value == nullptr) return std::nullopt;
  if (value->as_bool() == nullptr) refuse_kind(name, *value, "a boolean");
  return *value->as_bool();
}

std::optional<std::int64_t> Params::whole(std::string_view name, std::int64_t low,
                                          std::int64_t high) {
  const Json* value = take(name);
  if (value == nullptr) return std::nullopt;
  const auto number = value->number();
  if (!number || *number != std::trunc(*number)) refuse_kind(name, *value, "an integer");
  const auto whole = value->whole();
  if (!whole || *whole < low || *whole > high) {
    throw invalid_request(
        full(name), cat(full(name), " is ", value->dump(), ", possible are ", low, " to ", high));
  }
  return whole;
}

std::optional<double> Params::real(std::string_view name, double low, double high) {
  const Json* value = take(name);
  if (value == nullptr) return std::nullopt;
  const auto number = value->number();
  if (!number) refuse_kind(name, *value, "a number");
  if (!(*number >= low && *number <= high)) {
    throw invalid_request(full(name),
                          cat(full(name), " is ", *number, ", possible are ", low, " to ", high));
  }
  return number;
}

std::optional<std::string> Params::text(std::string_view name, std::size_t bytes_max) {
  const Json* value = take(name);
  if (value == nullptr) return std::nullopt;
  const std::string* text = value->as_string();
  if (text == nullptr) refuse_kind(name, *value, "a string");
  if (text->size() > bytes_max) {
    throw invalid_request(
        full(name), cat(full(name), " has ", text->size(), " bytes, possible are ", bytes_max));
  }
  return *text;
}

std::optional<std::string> Params::one_of(std::string_view name,
                                          std::initializer_list<std::string_view> values) {
  auto value = text(name, 64);
  if (!value || std::find(values.begin(), values.end(), *value) != values.end()) return value;
  std::string possible;
  for (const std::string_view v : values) possible += cat(possible.empty() ? "" : ", ", v);
  throw invalid_request(
      full(name), cat(full(name), " is ", printable(*value, 64), ", possible are ", possible));
}

const Json* Params::array(std::string_view name) {
  const Json* value = take(name);
  if (value != nullptr && value->as_array() == nullptr) refuse_kind(name, *value, "an array");
  return value;
}

const Json* Params::object(std::string_view name) {
  const Json* value = take(name);
  if (value != nullptr && value->as_object() == nullptr) refuse_kind(name, *value, "an object");
  return value;
}

void Params::within(std::string_view name, const std::function<void(Params&)>& read) {
  const Json* value = object(name);
  if (value == nullptr) return;
  Params inner(*value, cat(full(name), "."));
  read(inner);
  inner.finish();
  add_warnings(inner);
}

void Params::add_warnings(const Params& part) {
  if (part.warnings_.is_null()) return;
  for (const Json& warning : *part.warnings_.as_array()) add_warning(warning);
  more_warnings_ += part.more_warnings_;
}

void Params::ignore(std::string_view name, std::string_view why) {
  if (take(name) != nullptr) warn(name, "ignored", why);
}

void Params::ignore_text(std::string_view name, std::size_t bytes_max, std::string_view why) {
  if (text(name, bytes_max)) warn(name, "ignored", why);
}

void Params::ignore_object(std::string_view name, std::string_view why) {
  if (object(name) != nullptr) warn(name, "ignored", why);
}

void Params::refuse(std::string_view name, std::string_view why) {
  if (take(name) != nullptr) throw invalid_request(full(name), cat(full(name), ": ", why));
}

void Params::warn(std::string_view param, std::string_view code, std::string_view detail) {
  add_warning(
      json_object({{"param", printable(full(param), 64)}, {"code", code}, {"detail", detail}}));
}

void Params::add_warning(Json warning) {
  if (warnings_.is_null()) warnings_ = Json::array();
  if (warnings_.as_array()->size() < kWarningsMax) {
    warnings_.push(std::move(warning));
  } else {
    ++more_warnings_;
  }
}

Json Params::warnings() const {
  Json all = warnings_;
  if (more_warnings_ > 0) {
    all.push(json_object(
        {{"param", ""}, {"code", "more"}, {"detail", cat(more_warnings_, " more warnings")}}));
  }
  return all;
}

void Params::warn_once(std::string_view param, std::string_view code, std::string_view detail) {
  if (warned_.insert(cat(param, " ", code)).second) warn(param, code, detail);
}

void Params::finish() {
  std::size_t unknown = 0;
  for (const auto& [name, value] : *object_.as_object()) {
    if (known_.count(name) > 0) continue;
    if (++unknown <= kUnknownMax) warn(name, "unknown", "the server does not know it");
  }
  if (unknown > kUnknownMax) {
    warn("", "unknown", cat("the server does not know ", unknown - kUnknownMax, " other members"));
  }
}

}  // namespace ingot
