// Reads the request members that several endpoints share.
#include "server/common/common_params.h"

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "runtime/request_fields.h"
#include "runtime/sampling/bias_texts.h"
#include "runtime/sampling/random_seed.h"

namespace ingot {

namespace {

/// A temperature below this counts as 0.
constexpr double kTemperatureMin = 1e-6;
constexpr std::size_t kSaltBytesMax = 256;

/// Maximum tokens in `logit_bias`. The sampler changes that many logits in every step.
constexpr std::size_t kBiasesMax = 1024;

/// Maximum nested levels in a body: ConstraintLimits::kSchemaDepthMax, and the levels around the
/// schema of a tool. Functions that walk a body recursively need stack for each level.
constexpr std::int32_t kJsonDepthMax = 264;

void check_count(std::string_view name, std::size_t count, std::size_t most) {
  if (count <= most) return;
  throw invalid_request(std::string(name),
                        cat(name, " has ", count, " entries, possible are ", most));
}

/// Appends a stop string to `stops`. Returns false for null and for an empty string, which have no
/// effect. Errors: ApiError naming `path`.
bool add_stop(const std::string& path, const Json& value, std::vector<std::string>& stops) {
  const std::string* text = value.as_string();
  if (value.is_null() || (text != nullptr && text->empty())) return false;
  if (text == nullptr) {
    throw invalid_request(path, cat(path, " is ", value.kind(), ", expected a string"));
  }
  if (text->size() > kStopBytesMax) {
    throw invalid_request(
        path, cat(path, " has ", text->size(), " bytes, possible are at most ", kStopBytesMax));
  }
  stops.push_back(*text);
  return true;
}

/// Reads stop strings: one, or a list.
std::vector<std::string> read_stops(Params& params, std::string_view name) {
  std::vector<std::string> stops;
  const Json* value = params.take(name);
  if (value == nullptr) return stops;
  bool has_void = false;
  if (const Json::Array* list = value->as_array()) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      has_void |= !add_stop(cat(name, "[", i, "]"), (*list)[i], stops);
      check_count(name, stops.size(), kStopsMax);
    }
  } else {
    has_void = !add_stop(std::string(name), *value, stops);
  }
  if (has_void) params.warn(name, "ignored", "empty strings and nulls have no effect");
  return stops;
}

/// Returns `logit_bias` with the tokens of its texts, unless it has too many entries.
Json read_biases(const Json& value, const Service& service) {
  const Json::Object* biases = value.as_object();
  const bool has_texts = biases != nullptr && biases->size() <= kBiasesMax;
  return has_texts && service.has_tokenizer() ? with_token_ids(value, &service.tokenizer()) : value;
}

void read_speculation(Params& params, const Service& service, RequestSpeculation& speculation) {
  params.within("speculation", [&](Params& inner) {
    const auto mode = inner.one_of("mode", {"auto", "off", "lookup", "draft"});
    const auto found = std::find(kSpeculationModes.begin(), kSpeculationModes.end(), mode);
    if (mode) speculation.mode = static_cast<SpeculationMode>(found - kSpeculationModes.begin());
    if (const auto tokens = inner.whole("tokens", 0, kDraftsMax)) {
      speculation.tokens = static_cast<std::int32_t>(*tokens);
    }
  });
  try {
    check_speculation(speculation, service.limits());
  } catch (const Error& error) {
    throw invalid_request("speculation.mode", error.plain_message());
  }
}

/// Only text is supported: output cannot be constrained.
void read_response_format(Params& params) {
  const Json* format = params.take("response_format");
  if (format == nullptr) return;
  const Json* type = format->find("type");
  const bool is_text =
      type != nullptr && type->as_string() != nullptr && *type->as_string() == "text";
  if (is_text) return;
  throw invalid_request("response_format", "response_format can only be {\"type\": \"text\"}");
}

/// The largest limit on generated tokens: only the context ends the text.
constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

}  // namespace

void read_fields(Params& params, const Call& call, Request& request, Places where) {
  request.sampling = call.service.sampling_defaults();
  request.sampling.seed = random_seed();
  Json biases;
  const auto find = [&](std::string_view name) -> const Json* {
    const Json* value = params.take(name);
    if (value == nullptr || name != "logit_bias") return value;
    biases = read_biases(*value, call.service);
    return &biases;
  };
  for (const RequestField& field : request_fields()) {
    if ((field.places & where) == 0 || (field.read_apart & where) != 0) continue;
    as_api([&] { set_named_field(request, field, where, find); });
  }
  if (request.sampling.temperature < kTemperatureMin) request.sampling.temperature = 0;
  if ((where & place::kHttp) != 0) {
    request.stop = read_stops(params, where == place::kMessages ? "stop_sequences" : "stop");
    read_speculation(params, call.service, request.speculation);
  }
  check_count("logit_bias", request.sampling.logit_bias.size(), kBiasesMax);
  as_api([&] { check_sampling(request.sampling, call.service.limits().ids); });
  if (request.priority != 0 && !call.service.options().limits.by_priority) {
    params.warn("priority", "ignored", "the server takes requests in their order");
  }
  request.tenant = call.key;
  request.domain =
      call.service.domain(call.key, params.text("cache_salt", kSaltBytesMax).value_or(""));
}

Json used_seed(Params& params, const Request& request) {
  const Json* given = params.take("seed");
  const bool is_drawn = given == nullptr || given->number() == -1.0;
  return is_drawn ? Json(request.sampling.seed) : *given;
}

std::optional<std::int64_t> read_limit(Params& params, std::string_view name, std::int64_t least,
                                       std::int64_t most) {
  const auto value = params.whole(name, -1, most);
  if (!value || *value >= least) return value;
  if (*value == -1) return kNoLimit;
  throw invalid_request(std::string(name),
                        cat(name, " is ", *value, ", possible are -1 and ", least, " to ", most));
}

void read_max_tokens(Params& params, const Call& call, Request& request, Places where,
                     std::int64_t least) {
  const std::int64_t room = call.service.context() - std::ssize(request.prompt);
  std::optional<std::int64_t> wanted;
  bool has_null = false;
  std::string_view from;
  for (const std::string_view name : {"max_completion_tokens", "max_tokens", "max_output_tokens",
                                      "max_new_tokens", "n_predict"}) {
    const RequestField* field = find_field(name, where);
    if (field == nullptr) continue;
    const auto most = static_cast<std::int64_t>(range_at(*field, where).high);
    const auto value = read_limit(params, name, least, most);
    has_null |= params.is_null(name);
    if (!value) continue;
    if (wanted && *wanted != *value) {
      throw invalid_request(std::string(name), cat(name, " and ", from, " contradict each other"));
    }
    wanted = value;
    from = name;
  }
  std::int64_t fallback = where == place::kCompletions
                              ? default_request(where).max_tokens
                              : call.service.options().limits.max_tokens_default;
  if (has_null) fallback = kNoLimit;
  request.max_tokens = std::min(wanted.value_or(fallback), room);
  if (wanted && *wanted != kNoLimit && *wanted > room) {
    // A list of prompts calls this for each of them.
    params.warn_once(from, "clamped", cat("the prompt leaves room for ", room, " tokens"));
  }
}

namespace {

/// Reads the list `tools`. Warns if it is empty or if none of its tools may be called. Refuses it
/// otherwise.
void refuse_tool_list(Params& params, std::string_view reason, bool is_none_chosen) {
  const Json* tools = params.array("tools");
  if (tools == nullptr) return;
  if (!tools->as_array()->empty() && !is_none_chosen) {
    throw invalid_request("tools", cat("tools: ", reason));
  }
  params.warn("tools", "ignored", reason);
}

}  // namespace

void refuse_tools(Params& params, std::string_view endpoint) {
  const std::string reason = cat(endpoint, " has no tools");
  bool is_none_chosen = false;
  if (const Json* choice = params.take("tool_choice")) {
    const std::string* text = choice->as_string();
    is_none_chosen = text != nullptr && *text == "none";
    if (!is_none_chosen && (text == nullptr || *text != "auto")) {
      throw invalid_request("tool_choice", "tool_choice: there are no tools to choose from");
    }
    params.warn("tool_choice", "ignored", reason);
  }
  refuse_tool_list(params, reason, is_none_chosen);
  params.ignore("parallel_tool_calls", "there are no tools");
  for (const std::string_view name : {"functions", "function_call"}) {
    params.refuse(name, "is not supported");
  }
}

void refuse_unsupported(Params& params) {
  for (const std::string_view name : {"audio", "web_search_options", "logit_processors",
                                      "logits_processors", "chat_template", "prompt_embeds"}) {
    params.refuse(name, "is not supported");
  }
  if (params.flag("use_beam_search").value_or(false)) {
    throw invalid_request("use_beam_search", "use_beam_search can only be false");
  }
  params.whole("best_of", 1, 1);
}

void refuse_constraints(Params& params) {
  read_response_format(params);
  for (const std::string_view name :
       {"functions", "function_call", "guided_json", "guided_regex", "guided_choice",
        "guided_grammar", "grammar", "structured_outputs", "json_schema"}) {
    params.refuse(name, "is not supported");
  }
  refuse_unsupported(params);
}

void read_service_tier(Params& params, std::initializer_list<std::string_view> usual) {
  constexpr std::size_t kTierBytesMax = 64;
  const auto tier = params.text("service_tier", kTierBytesMax);
  if (!tier || std::find(usual.begin(), usual.end(), *tier) != usual.end()) return;
  params.warn("service_tier", "ignored", "there is one tier");
}

void read_without_effect(Params& params) {
  read_service_tier(params, {"auto", "default"});
  for (const std::string_view name :
       {"store", "metadata", "verbosity", "safety_identifier", "prompt_cache_key",
        "prompt_cache_retention", "client_metadata", "spaces_between_special_tokens"}) {
    params.ignore(name, "it changes nothing here");
  }
  params.ignore_text("user", 256, "it changes nothing here");
  if (!params.flag("skip_special_tokens").value_or(true)) {
    throw invalid_request("skip_special_tokens", "skip_special_tokens can only be true");
  }
}

void read_unsupported(Params& params, std::string_view endpoint) {
  refuse_constraints(params);
  refuse_tools(params, endpoint);
  read_without_effect(params);
  params.ignore("prediction", "only chats have it");
}

StreamParams read_stream(Params& params) {
  StreamParams out{.stream = params.flag("stream").value_or(false)};
  params.within("stream_options", [&](Params& options) {
    out.include_usage = options.flag("include_usage").value_or(false);
    out.usage_in_chunks = options.flag("continuous_usage_stats").value_or(false);
    if (options.flag("include_obfuscation").value_or(false)) {
      options.warn("include_obfuscation", "ignored", "this server does not pad streams");
    }
  });
  if (!out.stream && params.has("stream_options")) {
    params.warn("stream_options", "ignored", "the response is no stream");
    out.include_usage = out.usage_in_chunks = false;
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
    throw ApiError(400, "invalid_json", error.message());
  }
}

}  // namespace ingot
