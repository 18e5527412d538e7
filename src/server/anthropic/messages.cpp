// POST /v1/messages and /v1/messages/count_tokens: reads the requests.
#include <utility>

#include "base/text.h"
#include "server/anthropic/endpoints.h"
#include "server/anthropic/messages_input.h"
#include "server/anthropic/messages_writer.h"
#include "server/common/common_params.h"

namespace ingot {

namespace {

constexpr std::size_t kNameBytesMax = 256;

void read_rest(Params& params) {
  refuse_constraints(params);
  params.refuse("suffix", "is not supported");
  params.whole("n", 1, 1);
  params.within("metadata", [](Params& metadata) { metadata.text("user_id", kNameBytesMax); });
  params.one_of("service_tier", {"auto", "standard_only"});
  if (params.one_of("speed", {"standard", "fast"}) == "fast") {
    params.warn("speed", "ignored", "there is one speed");
  }
  for (const std::string_view name :
       {"container", "context_management", "mcp_servers", "inference_geo", "output_format"}) {
    params.refuse(name, "is not supported");
  }
}

/// Accepts `cache_control`, which has no effect: prefixes are cached without it.
void read_cache_control(Params& params) {
  params.ignore_object("cache_control", "equal beginnings of prompts are cached without it");
}

}  // namespace

Reply messages(const Call& call) {
  const Json body = read_body(call);
  Params params(body);
  call.service.check_model(params.take("model"));
  MessageForm form{.id = cat("msg_", call.id)};
  form.stream = params.flag("stream").value_or(false);
  GenerationPrompt prompt;
  ChatPrompt chat = read_messages(params, call.service, PromptRoom::kContext);
  form.prompt_tokens = std::ssize(chat.ids);
  const ReplyText reply(chat);
  prompt.request.prompt = std::move(chat.ids);
  params.refuse("stop", "its name is stop_sequences here");
  params.array("stop_sequences");  // must be a list of strings
  read_fields(params, call, prompt.request, place::kMessages);
  form.stops = prompt.request.stop;
  if (!params.has("max_tokens") && !params.is_null("max_tokens"))
    throw invalid_request("max_tokens", "max_tokens is missing");
  read_max_tokens(params, call, prompt.request, place::kMessages);
  read_rest(params);
  read_cache_control(params);
  form.seed = used_seed(params, prompt.request);
  params.finish();
  form.warnings = params.warnings();
  Generation generation;
  generation.stream = form.stream;
  generation.prompts.push_back(std::move(prompt));
  generation.writer = messages_writer(call.service, std::move(form), reply);
  return generation;
}

Reply count_tokens(const Call& call) {
  const Json body = read_body(call);
  Params params(body);
  call.service.check_model(params.take("model"));
  const ChatPrompt chat = read_messages(params, call.service, PromptRoom::kAny);
  read_cache_control(params);
  params.finish();
  Json j = Json::object();
  j.set("input_tokens", std::ssize(chat.ids));
  if (!params.warnings().is_null()) j.set("warnings", params.warnings());
  return HttpResponse{.body = j.dump()};
}

}  // namespace ingot
