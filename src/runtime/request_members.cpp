// The members of a request, one function each.
#include "runtime/request_members.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "base/error.h"
#include "base/text.h"
#include "load/config.h"

namespace ingot {

namespace {

constexpr std::int32_t kIdMax = std::numeric_limits<std::int32_t>::max();

[[noreturn]] void refuse(std::string_view name, const Json& value, std::string_view expected) {
  throw Error(ErrorCode::kInvalid, cat(name, ": is ", value.kind(), ", expected ", expected));
}

std::int64_t whole(std::string_view name, const Json& value, std::int64_t low, std::int64_t high) {
  const std::int64_t* i = value.as_int();
  if (i == nullptr) refuse(name, value, "an integer");
  if (*i >= low && *i <= high) return *i;
  throw Error(ErrorCode::kInvalid, cat(name, ": ", *i, " is not in [", low, ", ", high, "]"));
}

std::int32_t small(std::string_view name, const Json& value) {
  return static_cast<std::int32_t>(whole(name, value, -1, kIdMax));
}

float real(std::string_view name, const Json& value) {
  const auto number = value.number();
  if (!number) refuse(name, value, "a number");
  return static_cast<float>(*number);
}

std::vector<std::string> texts(std::string_view name, const Json& value) {
  if (const std::string* one = value.as_string()) return {*one};
  const Json::Array* all = value.as_array();
  if (all == nullptr) refuse(name, value, "a string or an array of strings");
  std::vector<std::string> list;
  for (const Json& entry : *all) {
    if (entry.as_string() == nullptr) refuse(name, entry, "strings in the array");
    list.push_back(*entry.as_string());
  }
  return list;
}

std::vector<std::int32_t> ids(std::string_view name, const Json& value) {
  const Json::Array* all = value.as_array();
  if (all == nullptr) refuse(name, value, "an array of token ids");
  std::vector<std::int32_t> list;
  for (const Json& id : *all) {
    list.push_back(static_cast<std::int32_t>(whole(name, id, 0, kIdMax)));
  }
  return list;
}

/// A token id as decimal digits, without a sign or leading zeros.
std::int32_t parse_id(std::string_view name, std::string_view text) {
  std::int32_t id = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, id);
  const bool is_plain = text == "0" || (!text.empty() && text.front() >= '1');
  if (result.ec == std::errc() && result.ptr == end && is_plain) return id;
  throw Error(ErrorCode::kInvalid, cat(name, ": ", printable(text, 32), " is no token id"));
}

/// {"ID": V}, as the API spells it.
std::vector<LogitBias> biases(std::string_view name, const Json& value) {
  const Json::Object* all = value.as_object();
  if (all == nullptr) refuse(name, value, "an object of token ids and values");
  std::vector<LogitBias> list;
  for (const auto& [id, bias] : *all) {
    list.push_back({parse_id(name, id), real(name, bias)});
  }
  sort_biases(list, name);
  return list;
}

bool truth(std::string_view name, const Json& value) {
  if (value.as_bool() == nullptr) refuse(name, value, "a boolean");
  return *value.as_bool();
}

using Name = std::string_view;

struct Member {
  Name name;
  void (*set)(Request& r, Name name, const Json& value);
};

constexpr std::array<Member, 18> kMembers{{
    {"prompt_ids", [](Request& r, Name n, const Json& v) { r.prompt = ids(n, v); }},
    {"max_tokens",
     [](Request& r, Name n, const Json& v) { r.max_tokens = whole(n, v, 0, kContextMax); }},
    {"temperature", [](Request& r, Name n, const Json& v) { r.sampling.temperature = real(n, v); }},
    {"top_k", [](Request& r, Name n, const Json& v) { r.sampling.top_k = small(n, v); }},
    {"top_p", [](Request& r, Name n, const Json& v) { r.sampling.top_p = real(n, v); }},
    {"min_p", [](Request& r, Name n, const Json& v) { r.sampling.min_p = real(n, v); }},
    {"typical_p", [](Request& r, Name n, const Json& v) { r.sampling.typical_p = real(n, v); }},
    {"repetition_penalty",
     [](Request& r, Name n, const Json& v) { r.sampling.repetition_penalty = real(n, v); }},
    {"presence_penalty",
     [](Request& r, Name n, const Json& v) { r.sampling.presence_penalty = real(n, v); }},
    {"frequency_penalty",
     [](Request& r, Name n, const Json& v) { r.sampling.frequency_penalty = real(n, v); }},
    {"logit_bias", [](Request& r, Name n, const Json& v) { r.sampling.logit_bias = biases(n, v); }},
    {"seed",
     [](Request& r, Name n, const Json& v) {
       const auto seed = v.as_uint();
       if (!seed) refuse(n, v, "an integer from 0 to 18446744073709551615");
       r.sampling.seed = *seed;
     }},
    {"stop", [](Request& r, Name n, const Json& v) { r.stop = texts(n, v); }},
    {"stop_token_ids", [](Request& r, Name n, const Json& v) { r.sampling.end_ids = ids(n, v); }},
    {"min_tokens", [](Request& r, Name n,
                      const Json& v) { r.sampling.min_tokens = whole(n, v, 0, kContextMax); }},
    {"ignore_eos", [](Request& r, Name n, const Json& v) { r.ignore_eos = truth(n, v); }},
    {"logprobs", [](Request& r, Name n, const Json& v) { r.sampling.logprobs = small(n, v); }},
    {"prompt_logprobs", [](Request& r, Name n, const Json& v) { r.prompt_logprobs = small(n, v); }},
}};

}  // namespace

void sort_biases(std::vector<LogitBias>& biases, std::string_view name) {
  const auto by_id = [](const LogitBias& a, const LogitBias& b) { return a.id < b.id; };
  const auto same = [](const LogitBias& a, const LogitBias& b) { return a.id == b.id; };
  std::sort(biases.begin(), biases.end(), by_id);
  const auto twice = std::adjacent_find(biases.begin(), biases.end(), same);
  if (twice == biases.end()) return;
  throw Error(ErrorCode::kInvalid, cat(name, ": token ", twice->id, " has two values"));
}

bool set_member(Request& request, std::string_view name, const Json& value) {
  const auto member = std::find_if(kMembers.begin(), kMembers.end(),
                                   [&](const Member& m) { return m.name == name; });
  if (member == kMembers.end()) return false;
  member->set(request, name, value);
  return true;
}

}  // namespace ingot
