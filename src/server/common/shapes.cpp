// What endpoints share.
#include "server/common/shapes.h"

#include <cmath>
#include <random>

#include "base/text.h"
#include "base/utf8.h"
#include "runtime/request_members.h"
#include "server/common/params.h"

namespace ingot {

namespace {

constexpr double kTemperatureOfRequestMax = 2;
/// Below it a temperature cannot be told from 0.
constexpr double kTemperatureMin = 1e-6;
constexpr std::size_t kSaltBytesMax = 256;

std::uint64_t random_seed() {
  thread_local std::mt19937_64 generator{std::random_device{}()};
  return generator();
}

/// 64 bits, signed or not.
std::uint64_t read_seed(Params& params) {
  const Json* value = params.take("seed");
  if (value == nullptr) return random_seed();
  if (const auto seed = value->as_uint()) return *seed;
  if (value->as_int() != nullptr) return static_cast<std::uint64_t>(*value->as_int());
  throw invalid_request("seed", cat("seed is ", value->kind(), ", expected an integer of 64 bits"));
}

void take_defaults(const SamplingDefaults& from, SamplingParams& to) {
  to.temperature = static_cast<float>(from.temperature.value_or(1));
  if (from.top_k) to.top_k = *from.top_k;
  if (from.top_p) to.top_p = static_cast<float>(*from.top_p);
  if (from.min_p) to.min_p = static_cast<float>(*from.min_p);
  if (from.repetition_penalty) {
    to.repetition_penalty = static_cast<float>(*from.repetition_penalty);
  }
}

/// Tokens in `logit_bias`: the sampler changes as many logits in every step. The engine has the
/// other limits (check_request).
constexpr std::size_t kBiasesMax = 1024;

void check_biases(const Request& request) {
  if (request.sampling.logit_bias.size() <= kBiasesMax) return;
  throw invalid_request("logit_bias", cat("logit_bias has more than ", kBiasesMax, " tokens"));
}

/// Levels of arrays and objects in a body. Schemas of tools, the deepest part of bodies, need far
/// fewer; functions that walk a body recursively need stack for each level.
constexpr std::int32_t kJsonDepthMax = 64;

/// Seconds that a request gives its first or last token.
double read_seconds(Params& params, std::string_view name) {
  constexpr double kDayMs = 86'400'000;
  const auto ms = params.real(name, 1, kDayMs);
  return ms ? *ms / 1000 : kNever;
}

/// Text alone, until constrained output is there.
void read_response_format(Params& params) {
  const Json* format = params.take("response_format");
  if (format == nullptr) return;
  const Json* type = format->find("type");
  const bool is_text =
      type != nullptr && type->as_string() != nullptr && *type->as_string() == "text";
  if (is_text) return;
  throw invalid_request("response_format", "response_format can only be {\"type\": \"text\"}");
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string out;
  append_json(out, text);
  return out;
}

std::string chunk_head(const Service& service, std::string_view id, std::string_view object,
                       std::int64_t created) {
  return cat("{\"id\":\"", id, "\",\"object\":\"", object, "\",\"created\":", created,
             ",\"model\":", json_string(service.options().model_name),
             ",\"system_fingerprint\":", json_string(service.options().fingerprint));
}

double finite_logprob(float logprob) { return std::isfinite(logprob) ? logprob : -9999.0; }

std::string token_text(const Service& service, std::int32_t id) {
  return to_valid_utf8(service.piece(id));
}

Json ids_json(std::span<const std::int32_t> ids) {
  Json list = Json::array();
  for (const std::int32_t id : ids) list.push(id);
  return list;
}

namespace {

Json one_logprob(const Service& service, const TokenScore& score) {
  Json bytes = Json::array();
  for (const char c : service.piece(score.id)) bytes.push(static_cast<unsigned char>(c));
  Json j = Json::object();
  j.set("token", token_text(service, score.id));
  j.set("logprob", finite_logprob(score.logprob));
  j.set("bytes", std::move(bytes));
  return j;
}

}  // namespace

Json chat_logprob(const Service& service, const TokenLogprobs& logprobs) {
  Json j = one_logprob(service, logprobs.token);
  Json top = Json::array();
  for (const TokenScore& score : logprobs.top) top.push(one_logprob(service, score));
  j.set("top_logprobs", std::move(top));
  return j;
}

void Usage::add(const Outcome& outcome, bool is_first_choice) {
  if (is_first_choice) {
    prompt_tokens += outcome.prompt_tokens;
    cached_tokens += outcome.cached_tokens;
  }
  completion_tokens += outcome.generated_tokens;
}

Json Usage::json() const {
  Json prompt = Json::object();
  prompt.set("cached_tokens", cached_tokens);
  Json completion = Json::object();
  completion.set("reasoning_tokens", reasoning_tokens);
  Json j = Json::object();
  j.set("prompt_tokens", prompt_tokens);
  j.set("completion_tokens", completion_tokens);
  j.set("total_tokens", prompt_tokens + completion_tokens);
  j.set("prompt_tokens_details", std::move(prompt));
  j.set("completion_tokens_details", std::move(completion));
  return j;
}

void append_event(std::string& out, std::string_view name, const Json& json) {
  out += cat("event: ", name, "\n");
  append_event(out, json.dump());
}

void append_event(std::string& out, std::string_view json) {
  out += kEventBegin;
  out += json;
  out += kEventEnd;
}

void read_sampling(Params& params, const Call& call, Request& request) {
  SamplingParams& sampling = request.sampling;
  take_defaults(call.service.defaults(), sampling);
  params.real("temperature", 0, kTemperatureOfRequestMax);
  for (const std::string_view name :
       {"temperature", "top_k", "top_p", "min_p", "typical_p", "repetition_penalty",
        "presence_penalty", "frequency_penalty", "logit_bias", "stop", "stop_token_ids",
        "min_tokens", "ignore_eos"}) {
    const Json* value = params.take(name);
    if (value == nullptr) continue;
    const bool known = as_api([&] { return set_member(request, name, *value); });
    INGOT_CHECK(known, "no member ", name);
  }
  if (sampling.temperature < kTemperatureMin) sampling.temperature = 0;
  sampling.seed = read_seed(params);
  check_biases(request);
  as_api([&] { check_sampling(sampling, call.service.limits().ids); });
  read_scheduling(params, call, request);
}

void read_scheduling(Params& params, const Call& call, Request& request) {
  if (const auto priority = params.whole("priority", -1000, 1000)) {
    request.priority = static_cast<std::int32_t>(*priority);
    if (!call.service.options().limits.by_priority && *priority != 0) {
      params.warn("priority", "ignored", "the server takes requests in their order");
    }
  }
  request.end_seconds = read_seconds(params, "deadline_ms");
  request.first_token_seconds = read_seconds(params, "max_ttft_ms");
  request.tenant = call.key;
  request.domain =
      call.service.domain(call.key, params.text("cache_salt", kSaltBytesMax).value_or(""));
}

void read_max_tokens(Params& params, const Call& call, Request& request,
                     std::initializer_list<std::string_view> names, std::int64_t fallback,
                     std::int64_t least) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  const std::int64_t room = call.service.context() - std::ssize(request.prompt);
  std::optional<std::int64_t> wanted;
  std::string_view from;
  for (const std::string_view name : names) {
    const auto value = params.whole(name, least, kMost);
    if (!value) continue;
    if (wanted && *wanted != *value) {
      throw invalid_request(std::string(name), cat(name, " and ", from, " contradict each other"));
    }
    wanted = value;
    from = name;
  }
  request.max_tokens = std::min(wanted.value_or(fallback), room);
  if (wanted && *wanted > room) {
    params.warn(from, "clamped", cat("the prompt leaves room for ", room, " tokens"));
  }
}

void read_tools(Params& params) {
  if (const Json* tools = params.take("tools")) {
    if (tools->as_array() == nullptr) {
      throw invalid_request("tools", cat("tools is ", tools->kind(), ", expected an array"));
    }
    if (!tools->as_array()->empty()) {
      throw invalid_request("tools", "tools: calls of tools are not supported yet");
    }
  }
  if (const Json* choice = params.take("tool_choice")) {
    const std::string* text = choice->as_string();
    if (text == nullptr || (*text != "none" && *text != "auto")) {
      throw invalid_request("tool_choice", "tool_choice: there are no tools to choose from");
    }
    params.warn("tool_choice", "ignored", "there are no tools");
  }
  params.ignore("parallel_tool_calls", "there are no tools");
}

void refuse_constraints(Params& params) {
  read_response_format(params);
  for (const std::string_view name :
       {"functions", "function_call", "audio", "web_search_options", "logit_processors",
        "logits_processors", "guided_json", "guided_regex", "guided_choice", "guided_grammar",
        "grammar", "structured_outputs", "json_schema", "chat_template", "suffix", "bad_words",
        "allowed_token_ids", "prompt_embeds"}) {
    params.refuse(name, "is not supported");
  }
  if (params.flag("use_beam_search").value_or(false)) {
    throw invalid_request("use_beam_search", "use_beam_search can only be false");
  }
  params.whole("best_of", 1, 1);
}

void read_unsupported(Params& params) {
  refuse_constraints(params);
  read_tools(params);
  params.one_of("service_tier", {"auto", "default"});
  for (const std::string_view name :
       {"store", "metadata", "prediction", "verbosity", "safety_identifier", "prompt_cache_key",
        "prompt_cache_retention", "spaces_between_special_tokens"}) {
    params.ignore(name, "it changes nothing here");
  }
  if (params.text("user", 256)) params.warn("user", "ignored", "it changes nothing here");
  if (params.flag("include_stop_str_in_output").value_or(false)) {
    throw invalid_request("include_stop_str_in_output",
                          "include_stop_str_in_output can only be false");
  }
  if (!params.flag("skip_special_tokens").value_or(true)) {
    throw invalid_request("skip_special_tokens", "skip_special_tokens can only be true");
  }
}

StreamParams read_stream(Params& params) {
  StreamParams out{.stream = params.flag("stream").value_or(false)};
  params.within("stream_options", [&](Params& options) {
    out.include_usage = options.flag("include_usage").value_or(false);
    if (options.flag("include_obfuscation").value_or(false)) {
      options.warn("include_obfuscation", "ignored", "this server does not pad streams");
    }
  });
  if (!out.stream && params.has("stream_options")) {
    params.warn("stream_options", "ignored", "the response is no stream");
    out.include_usage = false;
  }
  return out;
}

Json read_body(const Call& call) {
  try {
    return parse_json(call.http.body, "body", "json",
                      {.bytes_max = call.http.body.size(),
                       .depth_max = kJsonDepthMax,
                       .nodes_max = 1'000'000,
                       .string_bytes_max = call.http.body.size()});
  } catch (const Error& error) {
    throw ApiError(400, "invalid_request_error", "invalid_json", error.message());
  }
}

}  // namespace ingot
