// The table of request fields; converts JSON to their values and checks ranges.
#include "runtime/request_fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "base/utf8.h"
#include "ingot/ingot.c.h"
#include "ingot/ingot.h"
#include "runtime/sampling/random_seed.h"
#include "runtime/sampling/repeats.h"

namespace ingot {

namespace {

using namespace place;

using S = SamplingParams;
using A = api::Sampling;
using C = ingot_request;
using Real = InSampling<float>;

constexpr Places kGenerates = kFlags | kLine | kHttp;
constexpr Places kDraws = kGenerates | kSession;
constexpr Places kSetting = kDraws | kSet;
constexpr Places kScheduling = kHttp | kEmbeddings;
constexpr FieldRange kShare{0, 1};
constexpr FieldRange kPenalty{-2, 2};
constexpr FieldRange kTokens{0, kContextMax};
constexpr FieldRange kHttpTokens{-1, std::int64_t{1} << 31};
constexpr FieldRange kScores{-1, kLogprobsMax};
constexpr FieldRange kMilliseconds{1, 86'400'000};

constexpr FieldVariation kMaxTokensAt[] = {{kRun, {}, 256},
                                           {kTalk, {}, 4096},
                                           {kCompletions, kHttpTokens, 16},
                                           {kHttp, kHttpTokens, 4096}};
constexpr FieldVariation kTemperatureAt[] = {{kTalk, {}, 0.8}, {kHttp, {}, 1}};
constexpr FieldVariation kTopPAt[] = {{kTalk, {}, 0.95}};
// -1 draws a seed. On the server, other negative values count modulo 2^64.
constexpr FieldVariation kSeedAt[] = {
    {kHttp, FieldRange{-0x1p63, kMost<std::uint64_t>}},
    {kFlags | kLine | kSet, FieldRange{-1, kMost<std::uint64_t>}}};
constexpr std::span<const FieldVariation> kSame{};
constexpr FieldVariation kScoresAt[] = {{kRun | kHttp, FieldRange{0, kLogprobsMax}}};

constexpr std::span<const FieldAlias> kNoNames{};
constexpr FieldAlias kMaxTokensNames[] = {{"max_new_tokens", kLine | kChat | kCompletions},
                                          {"n_predict", kLine | kChat | kCompletions}};
constexpr FieldAlias kRepetitionNames[] = {{"repeat_penalty", kGenerates | kSet}};

// The columns are the members of RequestField.
constexpr RequestField kFields[] = {
    {"prompt_ids", &Request::prompt, kLine, {}, "Token ids to continue"},
    {"max_tokens", &Request::max_tokens, (kGenerates & ~kResponses) | kSet, kTokens,
     "Tokens to generate at most", "", kMaxTokensAt, kHttp, "", kMaxTokensNames},
    {"max_completion_tokens", &Request::max_tokens, kChat | kCompletions, kTokens,
     "Another name for max_tokens", "", kMaxTokensAt, kHttp},
    {"max_output_tokens", &Request::max_tokens, kResponses, kTokens, "Tokens to generate at most",
     "", kMaxTokensAt, kHttp},
    {"temperature", Real{&S::temperature, &A::temperature, &C::temperature}, kSetting | kModel,
     FieldRange{0, 100}, "0: always the most likely token; higher: more varied", "temp",
     kTemperatureAt},
    {"top_k", InSampling<std::int32_t>{&S::top_k, &A::top_k, &C::top_k}, kSetting | kModel,
     FieldRange{-1, kMost<std::int32_t>},
     "Choose among this many of the likeliest tokens; 0 and -1: all", "top_k"},
    {"top_p", Real{&S::top_p, &A::top_p, &C::top_p}, kSetting | kModel, kShare,
     "Choose among the likeliest tokens that together have this probability", "top_p", kTopPAt},
    {"min_p", Real{&S::min_p, &A::min_p, &C::min_p}, kSetting | kModel, kShare,
     "Leave out tokens less likely than this share of the likeliest", "min_p"},
    {"typical_p", Real{&S::typical_p, &A::typical_p, &C::typical_p}, kSetting,
     FieldRange{0, 1, true},
     "Choose among the tokens nearest to the expected surprise (above 0; 1: off)"},
    {"repetition_penalty",
     Real{&S::repetition_penalty, &A::repetition_penalty, &C::repetition_penalty},
     kSetting | kModel, FieldRange{0.01, 100},
     "Makes tokens of prompt and text less likely above 1", "penalty_repeat", kSame, 0, "",
     kRepetitionNames},
    {"presence_penalty", Real{&S::presence_penalty, &A::presence_penalty, &C::presence_penalty},
     kSetting, kPenalty, "Subtracted from the logit of each token that the text has"},
    {"frequency_penalty", Real{&S::frequency_penalty, &A::frequency_penalty, &C::frequency_penalty},
     kSetting, kPenalty, "Subtracted from a token's logit for each time that the text has it"},
    {"logit_bias", InSampling<std::vector<LogitBias>>{&S::logit_bias}, kDraws,
     FieldRange{-kLogitBiasMax, kLogitBiasMax},
     "Added to logits: ID=V,ID=V; in JSON, false: never this token"},
    {"dry_multiplier", Real{&S::dry_multiplier, &A::dry_multiplier, &C::dry_multiplier}, kSetting,
     FieldRange{0, 100}, "DRY: penalty of a token that would extend a repetition; 0: off"},
    {"dry_base", Real{&S::dry_base, &A::dry_base, &C::dry_base}, kSetting, FieldRange{1, 10},
     "DRY: factor of the penalty for each token beyond dry_allowed_length"},
    {"dry_allowed_length",
     InSampling<std::int32_t>{&S::dry_allowed_length, &A::dry_allowed_length,
                              &C::dry_allowed_length},
     kSetting, FieldRange{0, kRepeatMax}, "DRY: tokens of the shortest repetition to penalise"},
    {"dry_penalty_last_n",
     InSampling<std::int32_t>{&S::dry_penalty_last_n, &A::dry_penalty_last_n,
                              &C::dry_penalty_last_n},
     kSetting, FieldRange{-1, kMost<std::int32_t>},
     "DRY: last tokens to search for repetitions; -1: all; 0: off"},
    {"dry_sequence_breakers", InSampling<std::vector<std::string>>{&S::dry_sequence_breakers},
     kDraws, FieldRange{}, "DRY: texts that no repetition contains"},
    {"bad_words", InSampling<std::vector<std::string>>{&S::bad_words}, kDraws, FieldRange{},
     "Texts not to generate, alone or behind a space"},
    {"allowed_token_ids", InSampling<std::vector<std::int32_t>>{&S::allowed_token_ids}, kDraws,
     FieldRange{}, "Choose among these token ids only"},
    {"top_n_sigma", Real{&S::top_n_sigma, &A::top_n_sigma, &C::top_n_sigma}, kSetting,
     FieldRange{-1, 1000},
     "Leave out logits more than this many standard deviations below the largest; up to 0: off"},
    {"mirostat", InSampling<std::int32_t>{&S::mirostat, &A::mirostat, &C::mirostat}, kSetting,
     FieldRange{0, 2}, "2: Mirostat 2.0 keeps the surprise near mirostat_tau; 0: off"},
    {"mirostat_tau", Real{&S::mirostat_tau, &A::mirostat_tau, &C::mirostat_tau}, kSetting,
     FieldRange{0, 100}, "Mirostat: bits of surprise to aim at"},
    {"mirostat_eta", Real{&S::mirostat_eta, &A::mirostat_eta, &C::mirostat_eta}, kSetting, kShare,
     "Mirostat: how fast it adapts"},
    {"xtc_probability", Real{&S::xtc_probability, &A::xtc_probability, &C::xtc_probability},
     kSetting | kModel, kShare, "XTC: probability of dropping the likeliest tokens",
     "xtc_probability"},
    {"xtc_threshold", Real{&S::xtc_threshold, &A::xtc_threshold, &C::xtc_threshold},
     kSetting | kModel, kShare,
     "XTC: drop tokens with this probability or more, except the least likely; above 0.5: off",
     "xtc_threshold"},
    {"seed", InSampling<std::uint64_t>{&S::seed, &A::seed, &C::seed}, kSetting,
     FieldRange{0, kMost<std::uint64_t>}, "Equal seeds give equal text; -1: random", "", kSeedAt},
    {"choice", InSampling<std::uint32_t>{&S::choice, &A::choice, &C::choice}, kSession,
     FieldRange{0, kMost<std::uint32_t>},
     "Number of this text among several of one prompt and seed"},
    {"stop",
     &Request::stop,
     kDraws & ~kMessages,
     {},
     "End the text before this string",
     "",
     kSame,
     kHttp},
    {"stop_sequences",
     &Request::stop,
     kMessages,
     {},
     "End the text before the first of these",
     "",
     kSame,
     kHttp},
    {"stop_token_ids", InSampling<std::vector<std::int32_t>>{&S::end_ids}, kDraws, FieldRange{},
     "End the text at this token id, or ids: 1,2", "", kSame, 0, "--stop-token"},
    {"include_stop_str_in_output",
     &Request::include_stop,
     kLine | kOpenAi,
     {},
     "Keep the stop string, or the stop token's text, in the text"},
    {"min_tokens", InSampling<std::int64_t>{&S::min_tokens}, kDraws, kTokens,
     "Tokens before which no end or stop token is chosen, and no stop string ends the text"},
    {"ignore_eos", &Request::ignore_eos, kDraws, {}, "Continue behind end-of-sequence tokens"},
    {"logprobs", InSampling<std::int32_t>{&S::logprobs}, kRun | kLine | kCompletions, kScores,
     "Log-probabilities of each token and of this many likeliest ones, in JSON", "", kScoresAt,
     kHttp},
    {"prompt_logprobs", &Request::prompt_logprobs, kRun | kLine, kScores,
     "Log-probabilities of the prompt's tokens", "", kScoresAt},
    {"priority", &Request::priority, kScheduling, FieldRange{-1000, 1000},
     "Smaller ones first, where the server has --by-priority"},
    {"deadline_ms", &Request::end_seconds, kScheduling, kMilliseconds,
     "Milliseconds to the last token; refused where they are too few"},
    {"max_ttft_ms", &Request::first_token_seconds, kScheduling, kMilliseconds,
     "Milliseconds to the first token; refused where they are too few"},
    {"speculation", FieldMember{}, kHttp, FieldRange{},
     "Which drafts the request uses: {\"mode\": \"auto\", \"off\", \"lookup\" or \"draft\", "
     "\"tokens\": limit for each step, 1 to 32; 0: no limit}; no text changes",
     "", kSame, kHttp, "", kNoNames, "object"},
    {"prediction", FieldMember{}, kChat, FieldRange{},
     "The expected text, which becomes drafts: {\"type\": \"content\", \"content\": TEXT}", "",
     kSame, kChat, "", kNoNames, "object"},
    {"cache_salt", FieldMember{}, kScheduling, FieldRange{},
     "Requests with equal texts share cached prompts", "", kSame, kScheduling},
};

[[noreturn]] void refuse(std::string_view name, std::string_view problem) {
  throw Error(ErrorCode::kInvalid, cat(name, problem));
}

[[noreturn]] void refuse_kind(std::string_view name, const Json& value, std::string_view expected) {
  refuse(name, cat(" is ", value.kind(), ", expected ", expected));
}

/// Throws the error of a value out of range. The message has the range in type `T`.
template <class T, class Value>
[[noreturn]] void refuse_range(std::string_view name, Value value, const FieldRange& range) {
  const std::string_view from = range.is_above_low ? "above " : "from ";
  const std::string_view to = range.is_above_low ? " and up to " : " to ";
  refuse(name, cat(" is ", value, ", possible are values ", from, bound<T>(range.low), to,
                   bound<T>(range.high)));
}

/// Checks a value against a range, both in the field's own type.
template <class T>
void check_range(std::string_view name, T value, const FieldRange& range) {
  const bool fits = range.is_above_low ? value > bound<T>(range.low) : value >= bound<T>(range.low);
  if (!(fits && value <= bound<T>(range.high))) refuse_range<T>(name, value, range);  // NaN too
}

/// Parses a token id: decimal digits without a sign or leading zeros.
std::int32_t parse_id(std::string_view name, std::string_view text) {
  std::int32_t id = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, id);
  const bool is_plain = text == "0" || (!text.empty() && text.front() >= '1');
  if (result.ec == std::errc() && result.ptr == end && is_plain) return id;
  refuse(name, " is no token id");
}

/// The path of an object's member in errors: logit_bias["7"].
std::string member_path(std::string_view name, std::string_view key) {
  return cat(name, "[\"", printable(key, 32), "\"]");
}

/// Converts JSON to a field's value, with one function for each type.
struct JsonReader {
  const std::string name;  ///< the field's name in errors
  const Json& value;
  const FieldRange range;

  void operator()(bool& out) const {
    if (value.as_bool() == nullptr) refuse_kind(name, value, "a boolean");
    out = *value.as_bool();
  }
  void operator()(float& out) const { out = static_cast<float>(real(name, value)); }
  void operator()(double& seconds) const { seconds = real(name, value) / 1000; }
  /// Reads the seed. Null and -1 draw a seed at each place whose range has -1.
  void operator()(std::uint64_t& seed) const {
    const bool is_random = range.low <= -1 && (value.is_null() || value.number() == -1.0);
    seed = is_random ? random_seed() : whole<std::uint64_t>(name, value, range);
  }
  template <class Int>
  void operator()(Int& out) const {
    out = whole<Int>(name, value, range);
  }
  void operator()(std::vector<std::int32_t>& out) const {
    const Json::Array* all = value.as_array();
    if (all == nullptr) refuse_kind(name, value, "an array of token ids");
    out.clear();
    for (const Json& id : *all) {
      out.push_back(whole<std::int32_t>(entry_path(out.size()), id, {0, kMost<std::int32_t>}));
    }
  }
  /// Parses biases in the form {"ID": V} or [[ID, V]].
  void operator()(std::vector<LogitBias>& out) const {
    const Json::Object* all = value.as_object();
    const Json::Array* pairs = value.as_array();
    if (all == nullptr && pairs == nullptr) {
      refuse_kind(name, value, "an object of token ids and values");
    }
    out.clear();
    if (pairs != nullptr) {
      for (const Json& entry : *pairs) out.push_back(bias_pair(entry_path(out.size()), entry));
    } else {
      for (const auto& [id, bias] : *all) {
        const std::string path = member_path(name, id);
        out.push_back({parse_id(path, id), bias_value(path, bias)});
      }
    }
    sort_biases(out, name);
  }
  void operator()(std::vector<std::string>& out) const {
    const Json::Array* all = value.as_array();
    const std::string* one = value.as_string();
    if (all == nullptr && one == nullptr) {
      refuse_kind(name, value, "a string or an array of strings");
    }
    out.clear();
    if (one != nullptr) return out.push_back(*one);
    for (const Json& text : *all) {
      if (text.as_string() == nullptr) refuse_kind(entry_path(out.size()), text, "a string");
      out.push_back(*text.as_string());
    }
  }

 private:
  double real(std::string_view what, const Json& json) const {
    const auto number = json.number();
    if (!number) refuse_kind(what, json, "a number");
    check_range(what, *number, range);
    return *number;
  }

  std::string entry_path(std::size_t index) const { return cat(name, "[", index, "]"); }

  /// A token's bias. false bans the token, as in llama.cpp.
  float bias_value(std::string_view path, const Json& json) const {
    const bool* flag = json.as_bool();
    if (flag != nullptr && !*flag) return kBan;
    return static_cast<float>(real(path, json));
  }

  LogitBias bias_pair(const std::string& path, const Json& json) const {
    const Json::Array* pair = json.as_array();
    if (pair == nullptr || pair->size() != 2) refuse(path, " is no pair of a token id and a value");
    const FieldRange ids{0, kMost<std::int32_t>};
    return {whole<std::int32_t>(cat(path, "[0]"), (*pair)[0], ids),
            bias_value(cat(path, "[1]"), (*pair)[1])};
  }

  template <class Int>
  static Int whole(std::string_view path, const Json& json, const FieldRange& limits) {
    const auto fits = [&](auto number) {
      const auto near = static_cast<double>(number);
      return near >= limits.low && near <= limits.high;
    };
    const auto check = [&](auto number) {
      if (!fits(number)) refuse_range<Int>(path, number, limits);
      return static_cast<Int>(number);
    };
    if (const auto number = json.as_uint()) return check(*number);
    if (const auto number = json.whole()) return check(*number);
    // A real that is too large is out of range, as an integer would be.
    const double* real = json.as_double();
    if (real != nullptr && *real == std::trunc(*real) && !fits(*real)) {
      refuse_range<Int>(path, *real, limits);
    }
    refuse_kind(path, json, "an integer");
  }
};

Json to_json(bool value) { return value; }
Json to_json(float value) { return static_cast<double>(value); }  // no float is changed by it
Json to_json(double seconds) { return seconds * 1000; }
Json to_json(std::uint64_t value) { return value; }
Json to_json(std::int64_t value) { return value; }
Json to_json(std::int32_t value) { return value; }
Json to_json(std::uint32_t value) { return std::int64_t{value}; }
Json to_json(const std::string& value) { return value; }

template <class T>
Json to_json(const std::vector<T>& values) {
  Json list = Json::array();
  for (const T& value : values) list.push(to_json(value));
  return list;
}

Json to_json(const std::vector<LogitBias>& biases) {
  Json j = Json::object();
  for (const auto& [id, bias] : biases) {
    j.set(cat(id), bias == kBan ? Json(false) : to_json(bias));
  }
  return j;
}

[[noreturn]] void refuse_id(std::string_view path, std::int32_t id, std::int64_t ids) {
  refuse(path, cat(" is token ", id, ", possible are tokens from 0 to ", ids - 1));
}

void check_biases(const RequestField& field, const std::vector<LogitBias>& biases,
                  std::int64_t ids) {
  std::int32_t last = -1;
  std::int64_t bans = 0;
  for (const auto& [id, bias] : biases) {
    const std::string path = member_path(field.name, cat(id));
    if (id < 0 || id >= ids) refuse_id(path, id, ids);
    if (bias != kBan) check_range(path, bias, field.range);
    bans += bias == kBan ? 1 : 0;
    if (id <= last) {
      refuse(field.name, cat(" names token ", id, " after token ", last,
                             ", possible are rising ones, each once"));
    }
    last = id;
  }
  if (bans == ids) refuse(field.name, " bans every token");
}

void check_token_ids(std::string_view name, const std::vector<std::int32_t>& listed,
                     std::size_t most, std::int64_t ids) {
  if (listed.size() > most) {
    refuse(name, cat(" has ", listed.size(), " tokens, possible are at most ", most));
  }
  for (std::size_t i = 0; i < listed.size(); ++i) {
    if (listed[i] < 0 || listed[i] >= ids) refuse_id(cat(name, "[", i, "]"), listed[i], ids);
  }
}

/// Mirostat 1 is refused, because only version 2 exists.
void check_mirostat(std::string_view name, const SamplingParams& params) {
  if (params.mirostat == 1) refuse(name, " is 1, possible are 0 and 2");
}

void check_texts(std::string_view name, const std::vector<std::string>& texts, std::size_t most,
                 std::size_t bytes_max) {
  if (texts.size() > most) {
    refuse(name, cat(" has ", texts.size(), " entries, possible are at most ", most));
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string path = cat(name, "[", i, "]");
    if (texts[i].empty() || texts[i].size() > bytes_max) {
      refuse(path, cat(" has ", texts[i].size(), " bytes, possible are 1 to ", bytes_max));
    }
    if (!is_utf8(texts[i])) refuse(path, " is not valid UTF-8");
  }
}

std::string flag_named(std::string_view name) {
  std::string flag = cat("--", name);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

}  // namespace

std::span<const RequestField> request_fields() { return kFields; }

const RequestField* find_field(std::string_view name, Places places) {
  const auto is_named = [&](const auto& one) {
    return one.name == name && (one.places & places) != 0;
  };
  const auto* found = std::find_if(std::begin(kFields), std::end(kFields), [&](const auto& f) {
    return is_named(f) || std::any_of(f.aliases.begin(), f.aliases.end(), is_named);
  });
  return found == std::end(kFields) ? nullptr : found;
}

FieldRange range_at(const RequestField& field, Places where) {
  for (const FieldVariation& v : field.variations) {
    if ((v.places & where) != 0 && v.range) return *v.range;
  }
  return field.range;
}

std::vector<std::string_view> names_at(const RequestField& field, Places places) {
  std::vector<std::string_view> names{field.name};
  for (const FieldAlias& alias : field.aliases) {
    if ((alias.places & places) != 0) names.push_back(alias.name);
  }
  return names;
}

std::string flag_of(const RequestField& field) {
  return field.flag.empty() ? flag_named(field.name) : std::string(field.flag);
}

std::string flags_of(const RequestField& field, Places command) {
  std::string flags = flag_of(field);
  for (const FieldAlias& alias : field.aliases) {
    if ((alias.places & command) != 0) flags += cat(",", flag_named(alias.name));
  }
  return flags;
}

Request default_request(Places where) {
  Request request;
  for (const RequestField& field : kFields) {
    const auto found =
        std::find_if(field.variations.begin(), field.variations.end(),
                     [&](const FieldVariation& v) { return (v.places & where) != 0 && v.initial; });
    if ((field.places & where) == 0 || found == field.variations.end()) continue;
    const auto set = [&]<class T>(T& value) {
      if constexpr (std::is_arithmetic_v<T>) value = static_cast<T>(*found->initial);
    };
    with_value(field, set, request);
  }
  return request;
}

namespace {

/// Sets a field from JSON that has it under `name`. Checks the value.
void read_value(Request& request, const RequestField& field, std::string_view name,
                const Json& value, Places where) {
  with_value(field, JsonReader{std::string(name), value, range_at(field, where)}, request);
  check_mirostat(name, request.sampling);
  if (field.name == "allowed_token_ids" && where != kSession &&
      request.sampling.allowed_token_ids.empty()) {
    refuse(name, " is empty, possible are lists of one token or more");
  }
}

}  // namespace

void set_field(Request& request, const RequestField& field, const Json& value, Places where) {
  read_value(request, field, field.name, value, where);
}

void set_named_field(Request& request, const RequestField& field, Places where,
                     FunctionRef<const Json*(std::string_view name)> find) {
  std::string_view set_by;
  for (const std::string_view name : names_at(field, where)) {
    const Json* value = find(name);
    if (value == nullptr) continue;
    Request given;
    read_value(given, field, name, *value, where);
    if (set_by.empty()) {
      copy_field(field, request, given);
      set_by = name;
    } else if (field_text(field, given) != field_text(field, request)) {
      refuse(name, cat(" is unequal to ", set_by, ", its other name"));
    }
  }
}

std::vector<std::string> set_model_defaults(Request& request, const Config& config,
                                            const std::string& file) {
  const bool is_gguf = config.naming == Naming::kGguf;
  const std::string_view object = is_gguf ? "general.sampling." : "generation_config.";
  std::vector<std::string> wrong;
  for (const RequestField& field : kFields) {
    if ((field.places & kModel) == 0) continue;
    const std::string_view key = is_gguf ? field.gguf : field.name;
    const Json* stated = config.sampling.find(key);
    if (stated == nullptr || stated->is_null()) continue;
    try {
      with_value(field, JsonReader{cat(object, key), *stated, field.range}, request);
    } catch (const Error& error) {
      wrong.push_back(cat(printable(file, 4096), ": ", error.message(), "; it is ignored"));
    }
  }
  return wrong;
}

void copy_field(const RequestField& field, Request& to, const Request& from) {
  with_value(
      field, [](auto& value, const auto& other) { value = other; }, to, from);
}

Json field_json(const RequestField& field, const Request& request) {
  Json json;
  with_value(
      field, [&](const auto& value) { json = to_json(value); }, request);
  return json;
}

std::string field_text(const RequestField& field, const Request& request) {
  std::string text;
  const auto set_text = [&]<class T>(const T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      text = cat(value);
    } else {
      text = to_json(value).dump();
    }
  };
  with_value(field, set_text, request);
  return text;
}

void sort_biases(std::vector<LogitBias>& biases, std::string_view name) {
  const auto by_id = [](const LogitBias& a, const LogitBias& b) { return a.id < b.id; };
  const auto same = [](const LogitBias& a, const LogitBias& b) { return a.id == b.id; };
  std::sort(biases.begin(), biases.end(), by_id);
  const auto twice = std::adjacent_find(biases.begin(), biases.end(), same);
  if (twice != biases.end()) refuse(name, cat(": token ", twice->id, " has two values"));
}

void check_sampling(const SamplingParams& params, std::int64_t ids) {
  for (const RequestField& field : kFields) {
    const auto check = [&]<class Member>(const Member& at) {
      if constexpr (std::is_same_v<Member, InSampling<std::vector<LogitBias>>>) {
        check_biases(field, params.*at.member, ids);
      } else if constexpr (std::is_same_v<Member, InSampling<std::vector<std::int32_t>>>) {
        const bool is_ends = at.member == &S::end_ids;
        check_token_ids(field.name, params.*at.member, is_ends ? kEndIdsMax : to_size(ids), ids);
      } else if constexpr (requires { at.cpp; } &&
                           !std::is_same_v<Member, InSampling<std::vector<std::string>>>) {
        check_range(field.name, params.*at.member, field.range);
      }
    };
    std::visit(check, field.member);
  }
  check_texts("bad_words", params.bad_words, kBadWordsMax, kBadWordBytesMax);
  check_texts("dry_sequence_breakers", params.dry_sequence_breakers, kBreakersMax,
              kBreakerBytesMax);
  check_mirostat("mirostat", params);
}

}  // namespace ingot
