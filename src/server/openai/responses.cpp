// POST /v1/responses: reads the request; nothing is stored.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "load/json_object.h"
#include "server/common/common_params.h"
#include "server/common/message_text.h"
#include "server/openai/endpoints.h"
#include "server/openai/responses_input.h"
#include "server/openai/responses_writer.h"

namespace ingot {

namespace {

constexpr std::string_view kLogprobs = "message.output_text.logprobs";
constexpr std::size_t kIncludesMax = 16;
constexpr std::size_t kMetadataMax = 16;
constexpr std::size_t kMetadataBytesMax = 512;
constexpr std::size_t kNameBytesMax = 256;

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

/// Only text is supported: output cannot be constrained.
void read_text_format(Params& params) {
  params.within("text", [](Params& text) {
    text.within("format", [](Params& format) { format.one_of("type", {"text"}); });
    text.ignore_text("verbosity", kNameBytesMax, "it changes nothing here");
  });
}

/// Whether `include` asks for log-probabilities.
bool read_include(Params& params) {
  const Json* include = params.array("include");
  if (include == nullptr) return false;
  if (include->as_array()->size() > kIncludesMax) {
    throw invalid_request("include", cat("include has more than ", kIncludesMax, " entries"));
  }
  bool has_logprobs = false;
  for (std::size_t i = 0; i < include->as_array()->size(); ++i) {
    const Json& entry = (*include->as_array())[i];
    const std::string* name = entry.as_string();
    if (name == nullptr) {
      refuse_at(entry_place("include", i), cat("is ", entry.kind(), ", expected a string"));
    }
    if (*name == kLogprobs) {
      has_logprobs = true;
    } else {
      params.warn("include", "ignored", cat("there is no ", printable(*name, 64)));
    }
  }
  return has_logprobs;
}

std::int32_t read_top_logprobs(Params& params) {
  const bool is_included = read_include(params);
  const auto top = params.whole("top_logprobs", 0, kLogprobsMax);
  if (!is_included && top.value_or(0) == 0) return -1;
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
  read_tools(params);
  params.one_of("service_tier", {"auto", "default"});
  if (params.one_of("truncation", {"auto", "disabled"}) == "auto") {
    params.warn("truncation", "ignored", "prompts that are too long are refused");
  }
  for (const std::string_view name : {"moderation", "image", "access_programs", "max_tool_calls",
                                      "context_management", "background_options", "best_of"}) {
    params.refuse(name, "is not supported");
  }
  for (const std::string_view name :
       {"safety_identifier", "prompt_cache_key", "prompt_cache_retention"}) {
    params.ignore_text(name, kNameBytesMax, "it changes nothing here");
  }
  params.ignore_object("prompt_cache_options", "it changes nothing here");
}

/// The member as it was sent, or null.
Json sent(Params& params, std::string_view name) {
  const Json* value = params.take(name);
  return value == nullptr ? Json() : *value;
}

/// The members of the request that the response repeats, and others that clients expect.
Json repeated_members(Params& params, const Request& request) {
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
                        {"parallel_tool_calls", false},
                        {"previous_response_id", Json()},
                        {"reasoning", std::move(reasoning)},
                        {"service_tier", "default"},
                        {"store", false}});
  const Json* temperature = params.take("temperature");
  j.set("temperature", temperature != nullptr ? *temperature : Json(sampling.temperature));
  j.set("text", json_object({{"format", json_object({{"type", "text"}})}}));
  j.set("tool_choice", "none");
  j.set("tools", Json::array());
  j.set("top_logprobs", std::max(0, sampling.logprobs));
  const Json* top_p = params.take("top_p");
  j.set("top_p", top_p != nullptr ? *top_p : Json(sampling.top_p));
  j.set("truncation", "disabled");
  j.set("user", params.text("user", kNameBytesMax) ? sent(params, "user") : Json());
  return j;
}

}  // namespace

Reply responses(const Call& call) {
  const Json body = read_body(call);
  Params params(body);
  call.service.check_model(params.take("model"));
  ResponseForm form{.id = call.id, .created = Service::now()};
  form.stream = read_stream(params).stream;
  read_stored(params);
  GenerationPrompt prompt;
  ChatPrompt chat = read_response_input(params, call.service);
  const ReplyText reply(chat);
  prompt.request.prompt = std::move(chat.ids);
  read_fields(params, call, prompt.request, place::kResponses);
  read_text_format(params);
  read_rest(params);
  prompt.request.sampling.logprobs = read_top_logprobs(params);
  form.logprobs = prompt.request.sampling.logprobs >= 0;
  read_max_tokens(params, call, prompt.request, place::kResponses);
  form.repeated = repeated_members(params, prompt.request);
  form.seed = used_seed(params, prompt.request);
  params.finish();
  form.warnings = params.warnings();
  Generation generation;
  generation.stream = form.stream;
  generation.prompts.push_back(std::move(prompt));
  generation.writer = responses_writer(call.service, std::move(form), reply);
  return generation;
}

}  // namespace ingot
