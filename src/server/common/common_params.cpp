// Reads the request members that several endpoints share.
#include "server/common/common_params.h"

#include <random>

#include "base/text.h"
#include "runtime/request_fields.h"
#include "runtime/sampling/bias_texts.h"

namespace ingot {

namespace {

/// A temperature below this counts as 0.
constexpr double kTemperatureMin = 1e-6;
constexpr std::size_t kSaltBytesMax = 256;

std::uint64_t random_seed() {
  thread_local std::mt19937_64 generator{std::random_device{}()};
  return generator();
}

/// Maximum tokens in `logit_bias`. The sampler changes that many logits in every step.
constexpr std::size_t kBiasesMax = 1024;

/// Maximum nested levels in a body. Tool schemas, the deepest parts of bodies, need far fewer.
/// Functions that walk a body recursively need stack for each level.
constexpr std::int32_t kJsonDepthMax = 64;

/// Checks counts and lengths before a prompt is computed. `stop` is the endpoint's name for stop
/// strings.
void check_counts(const Request& request, std::string_view stop) {
  const auto check = [](std::string_view name, std::size_t count, std::size_t most) {
    if (count <= most) return;
    throw invalid_request(std::string(name),
                          cat(name, " has ", count, " entries, possible are ", most));
  };
  check(stop, request.stop.size(), kStopsMax);
  for (const std::string& text : request.stop) {
    if (!text.empty() && text.size() <= kStopBytesMax) continue;
    throw invalid_request(std::string(stop), cat(stop, " has a string of ", text.size(),
                                                 " bytes, possible are 1 to ", kStopBytesMax));
  }
  check("logit_bias", request.sampling.logit_bias.size(), kBiasesMax);
}

/// Sets a field from JSON. In `logit_bias`, texts count as their tokens, unless there are too many.
void set_body_field(Request& request, const RequestField& field, const Json& value,
                    const Call& call, Places where) {
  const bool is_bias = field.name == "logit_bias" && value.as_object() != nullptr &&
                       value.as_object()->size() <= kBiasesMax && call.service.has_tokenizer();
  if (!is_bias) return set_field(request, field, value, where);
  set_field(request, field, with_token_ids(value, &call.service.tokenizer()), where);
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

}  // namespace

void read_fields(Params& params, const Call& call, Request& request, Places where) {
  request.sampling = call.service.sampling_defaults();
  request.sampling.seed = random_seed();
  for (const RequestField& field : request_fields()) {
    if ((field.places & where) == 0 || (field.read_apart & where) != 0) continue;
    const Json* value = params.take(field.name);
    if (value != nullptr) as_api([&] { set_body_field(request, field, *value, call, where); });
  }
  if (request.sampling.temperature < kTemperatureMin) request.sampling.temperature = 0;
  check_counts(request, where == place::kMessages ? "stop_sequences" : "stop");
  as_api([&] { check_sampling(request.sampling, call.service.limits().ids); });
  if (request.priority != 0 && !call.service.options().limits.by_priority) {
    params.warn("priority", "ignored", "the server takes requests in their order");
  }
  request.tenant = call.key;
  request.domain =
      call.service.domain(call.key, params.text("cache_salt", kSaltBytesMax).value_or(""));
}

void read_max_tokens(Params& params, const Call& call, Request& request, Places where,
                     std::int64_t least) {
  const std::int64_t room = call.service.context() - std::ssize(request.prompt);
  std::optional<std::int64_t> wanted;
  std::string_view from;
  for (const std::string_view name : {"max_completion_tokens", "max_tokens", "max_output_tokens"}) {
    const RequestField* field = find_field(name, where);
    if (field == nullptr) continue;
    const auto most = static_cast<std::int64_t>(range_at(*field, where).high);
    const auto value = params.whole(name, least, most);
    if (!value) continue;
    if (wanted && *wanted != *value) {
      throw invalid_request(std::string(name), cat(name, " and ", from, " contradict each other"));
    }
    wanted = value;
    from = name;
  }
  const std::int64_t fallback = where == place::kCompletions
                                    ? default_request(where).max_tokens
                                    : call.service.options().limits.max_tokens_default;
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
        "grammar", "structured_outputs", "json_schema", "chat_template", "suffix",
        "prompt_embeds"}) {
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
    throw ApiError(400, "invalid_json", error.message());
  }
}

}  // namespace ingot
