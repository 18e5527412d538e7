// POST /v1/responses and /v1/responses/input_tokens: reads the requests; nothing is stored.
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/text.h"
#include "load/json_object.h"
#include "server/common/common_params.h"
#include "server/common/constraint_params.h"
#include "server/common/message_text.h"
#include "server/common/model_choice.h"
#include "server/common/reply_constraint.h"
#include "server/common/response_json.h"
#include "server/openai/endpoints.h"
#include "server/openai/responses_input.h"
#include "server/openai/responses_tools.h"
#include "server/openai/responses_writer.h"

namespace ingot {

namespace {

constexpr std::string_view kLogprobs = "message.output_text.logprobs";
constexpr std::string_view kSealed = "reasoning.encrypted_content";
constexpr std::size_t kIncludesMax = 16;
constexpr std::size_t kMetadataMax = 16;
constexpr std::size_t kMetadataBytesMax = 512;
constexpr std::size_t kNameBytesMax = 256;
constexpr std::int64_t kToolCallsMax = std::numeric_limits<std::int32_t>::max();

/// Refuses members that continue a stored response; `store` has no effect.
void read_stored(Params& params) {
  for (const std::string_view name : {"previous_response_id", "conversation", "prompt"}) {
    params.refuse(name, "nothing is stored: send the whole conversation as input");
  }
  if (params.flag("background").value_or(false)) {
    throw invalid_request("background", "background can only be false: nothing is stored");
  }
  if (params.flag("store").value_or(false)) {
    params.warn("store", "ignored", "nothing is stored");
  }
}

/// Reads the constraint in `text`; nothing for free text.
std::optional<ConstraintSpec> read_text_format(Params& params) {
  std::optional<ConstraintSpec> format;
  params.within("text", [&](Params& text) {
    format = read_output_format(text, "format");
    text.ignore_text("verbosity", kNameBytesMax, "it changes nothing here");
  });
  return format;
}

/// What `include` asks for.
struct Included {
  bool logprobs = false;
  bool sealed_reasoning = false;
};

Included read_include(Params& params) {
  Included included;
  const Json* include = params.array("include");
  if (include == nullptr) return included;
  if (include->as_array()->size() > kIncludesMax) {
    throw invalid_request("include", cat("include has more than ", kIncludesMax, " entries"));
  }
  for (std::size_t i = 0; i < include->as_array()->size(); ++i) {
    const Json& entry = (*include->as_array())[i];
    const std::string* name = entry.as_string();
    if (name == nullptr) {
      refuse_at(entry_place("include", i), cat("is ", entry.kind(), ", expected a string"));
    }
    if (*name == kLogprobs) {
      included.logprobs = true;
    } else if (*name == kSealed) {
      included.sealed_reasoning = true;
    } else {
      params.warn("include", "ignored", cat("there is no ", printable(*name, 64)));
    }
  }
  return included;
}

std::int32_t read_top_logprobs(Params& params, const Included& included) {
  const auto top = params.whole("top_logprobs", 0, kLogprobsMax);
  if (!included.logprobs && top.value_or(0) == 0) return -1;
  return static_cast<std::int32_t>(top.value_or(0));
}

/// Reads `metadata`: names and strings that the response repeats.
Json read_metadata(Params& params) {
  const Json* metadata = params.object("metadata");
  if (metadata == nullptr) return Json::object();
  if (metadata->as_object()->size() > kMetadataMax) {
    throw invalid_request("metadata", cat("metadata has more than ", kMetadataMax, " entries"));
  }
  for (const auto& [name, value] : *metadata->as_object()) {
    const bool fits = value.as_string() != nullptr && name.size() <= kMetadataBytesMax &&
                      value.as_string()->size() <= kMetadataBytesMax;
    if (!fits) {
      refuse_at(cat("metadata[\"", printable(name, 32), "\"]"),
                cat("is no name and string of at most ", kMetadataBytesMax, " bytes each"));
    }
  }
  return *metadata;
}

void read_rest(Params& params) {
  refuse_constraints(params);
  params.refuse("suffix", "is not supported");
  params.whole("n", 1, 1);
  read_service_tier(params, {"auto", "default"});
  if (params.one_of("truncation", {"auto", "disabled"}) == "auto") {
    params.warn("truncation", "ignored", "prompts that are too long are refused");
  }
  for (const std::string_view name :
       {"moderation", "image", "access_programs", "background_options"}) {
    params.refuse(name, "is not supported");
  }
  if (params.array("context_management") != nullptr) {
    params.warn("context_management", "ignored", "conversations are used as they are sent");
  }
  if (params.whole("max_tool_calls", 1, kToolCallsMax)) {
    params.warn("max_tool_calls", "ignored", "the server runs no tools");
  }
  for (const std::string_view name :
       {"safety_identifier", "prompt_cache_key", "prompt_cache_retention"}) {
    params.ignore_text(name, kNameBytesMax, "it changes nothing here");
  }
  for (const std::string_view name : {"prompt_cache_options", "client_metadata"}) {
    params.ignore_object(name, "it changes nothing here");
  }
}

/// The member as it was sent, or null.
Json sent(Params& params, std::string_view name) {
  const Json* value = params.take(name);
  return value == nullptr ? Json() : *value;
}

/// The format of the reply as it was sent, or free text.
Json sent_format(Params& params) {
  const Json* text = params.take("text");
  const Json* format = text == nullptr ? nullptr : text->find("format");
  const bool is_sent = format != nullptr && !format->is_null();
  return is_sent ? *format : json_object({{"type", "text"}});
}

/// The members of the request that the response repeats, and others that clients expect.
Json repeated_members(Params& params, const Request& request, const RequestTools& tools) {
  const SamplingParams& sampling = request.sampling;
  Json effort = Json();
  if (const Json* reasoning = params.take("reasoning")) {
    if (const Json* value = reasoning->find("effort")) effort = *value;
  }
  Json reasoning = json_object({{"effort", std::move(effort)}, {"summary", Json()}});
  Json j = json_object({{"background", false},
                        {"instructions", sent(params, "instructions")},
                        {"max_output_tokens", sent(params, "max_output_tokens")},
                        {"metadata", read_metadata(params)},
                        {"parallel_tool_calls", tools.choice.parallel},
                        {"previous_response_id", Json()},
                        {"reasoning", std::move(reasoning)},
                        {"service_tier", "default"},
                        {"store", false}});
  const Json* temperature = params.take("temperature");
  j.set("temperature", temperature != nullptr ? *temperature : Json(sampling.temperature));
  j.set("text", json_object({{"format", sent_format(params)}}));
  const Json* choice = params.take("tool_choice");
  j.set("tool_choice", choice != nullptr ? *choice : Json("auto"));
  const Json* list = params.take("tools");
  j.set("tools", list != nullptr ? *list : Json::array());
  j.set("top_logprobs", std::max(0, sampling.logprobs));
  const Json* top_p = params.take("top_p");
  j.set("top_p", top_p != nullptr ? *top_p : Json(sampling.top_p));
  j.set("truncation", "disabled");
  j.set("user", params.text("user", kNameBytesMax) ? sent(params, "user") : Json());
  return j;
}

/// Reads whether the response is a stream.
ResponseForm read_form(Params& params, const Call& call) {
  ResponseForm form{.id = call.id};
  const StreamParams stream = read_stream(params);
  form.stream = stream.stream;
  if (stream.usage_in_chunks) {
    params.warn("stream_options.continuous_usage_stats", "ignored", "the last event has the usage");
  }
  return form;
}

/// Reads the members that do not change the prompt, except the limit on tokens. Returns what
/// constrains the reply.
std::optional<ConstraintSpec> read_options(Params& params, const Call& call, Request& request,
                                           ResponseForm& form) {
  read_fields(params, call, request, place::kResponses);
  auto format = read_text_format(params);
  read_rest(params);
  const Included included = read_include(params);
  form.has_sealed_reasoning = included.sealed_reasoning;
  request.sampling.logprobs = read_top_logprobs(params, included);
  return format;
}

}  // namespace

Reply responses(const Call& call) {
  const Json body = read_body(call);
  Params params(body);
  ChosenModel model = read_model(params, call);
  ResponseForm form = read_form(params, call);
  form.model = std::move(model.name);
  form.created = Service::now();
  read_stored(params);
  Generation generation;
  Request& request = generation.request;
  request.adapters = std::move(model.adapters);
  const RequestTools tools = read_response_tools(params);
  ChatPrompt chat = read_response_input(params, call, PromptRoom::kContext, tools);
  request.prompt = std::move(chat.ids);
  const auto format = read_options(params, call, request, form);
  if (request.sampling.logprobs >= 0) {
    form.logprob = [&service = call.service](const TokenLogprobs& token) {
      return chat_logprob(service, token);
    };
  }
  read_max_tokens(params, call, request, place::kResponses);
  form.repeated = repeated_members(params, request, tools);
  form.seed = used_seed(params, request);
  const ReplyFormat reply = constrain_chat(params, call.service, chat, tools, format, request);
  params.finish();
  form.warnings = params.warnings();
  generation.stream = form.stream;
  generation.add_prompt();
  generation.writer = responses_writer(std::move(form), reply);
  return generation;
}

/// Takes every request that `responses` takes, and prompts of any length.
Reply count_response_tokens(const Call& call) {
  const Json body = read_body(call);
  Params params(body);
  check_model(params, call);
  ResponseForm form = read_form(params, call);
  read_stored(params);
  const RequestTools tools = read_response_tools(params);
  const ChatPrompt chat = read_response_input(params, call, PromptRoom::kAny, tools);
  Request request;
  read_options(params, call, request, form);
  const RequestField& limit = *find_field("max_output_tokens", place::kResponses);
  const FieldRange range = range_at(limit, place::kResponses);
  read_limit(params, limit.name, 1, static_cast<std::int64_t>(range.high));
  repeated_members(params, request, tools);
  params.finish();
  Json j =
      json_object({{"object", "response.input_tokens"}, {"input_tokens", std::ssize(chat.ids)}});
  if (!params.warnings().is_null()) j.set("warnings", params.warnings());
  return HttpResponse{.body = j.dump()};
}

}  // namespace ingot
