// POST /v1/messages and /v1/messages/count_tokens: reads the requests.
#include <utility>

#include "base/text.h"
#include "server/anthropic/endpoints.h"
#include "server/anthropic/messages_input.h"
#include "server/anthropic/messages_writer.h"
#include "server/common/common_params.h"
#include "server/common/model_choice.h"
#include "server/common/reply_constraint.h"

namespace ingot {

namespace {

constexpr std::size_t kNameBytesMax = 256;

/// Ignores a container, because only tools could read its files. Refuses skills.
void read_container(Params& params) {
  const Json* container = params.take("container");
  if (container == nullptr) return;
  if (container->as_object() != nullptr) {
    Params members(*container, "container.");
    const Json* skills = members.array("skills");
    if (skills != nullptr && !skills->as_array()->empty()) {
      throw invalid_request("container.skills", "container.skills: skills are not supported");
    }
  } else if (container->as_string() == nullptr) {
    throw invalid_request("container",
                          cat("container is ", container->kind(), ", expected a string or object"));
  }
  params.warn("container", "ignored", "the server runs no tools that could use it");
}

/// Reads members that are only hints. Refuses MCP servers, which the server cannot call.
void read_hints(Params& params) {
  params.ignore_object("cache_control", "equal beginnings of prompts are cached without it");
  params.ignore_object("context_management", "conversations are used as they are sent");
  if (params.array("betas") != nullptr) params.warn("betas", "ignored", "there are no betas");
  if (const Json* servers = params.array("mcp_servers")) {
    if (!servers->as_array()->empty()) {
      throw invalid_request("mcp_servers", "mcp_servers: MCP servers are not supported");
    }
    params.warn("mcp_servers", "ignored", "it is empty");
  }
  read_container(params);
  params.within("metadata", [](Params& metadata) { metadata.text("user_id", kNameBytesMax); });
  read_service_tier(params, {"auto", "standard_only"});
  if (params.one_of("speed", {"standard", "fast"}) == "fast") {
    params.warn("speed", "ignored", "there is one speed");
  }
  params.refuse("inference_geo", "is not supported");
}

/// Refuses members that would change the reply in unsupported ways.
void refuse_demands(Params& params) {
  refuse_constraints(params);
  params.refuse("suffix", "is not supported");
  params.whole("n", 1, 1);
}

}  // namespace

Reply messages(const Call& call) {
  const Json body = read_body(call);
  Params params(body);
  ChosenModel model = read_model(params, call);
  MessageForm form{.id = call.id, .model = std::move(model.name)};
  form.stream = params.flag("stream").value_or(false);
  Generation generation;
  Request& request = generation.request;
  request.adapters = std::move(model.adapters);
  MessagesInput input = read_messages(params, call, PromptRoom::kContext);
  form.prompt_tokens = std::ssize(input.prompt.ids);
  request.prompt = std::move(input.prompt.ids);
  params.refuse("stop", "its name is stop_sequences here");
  params.array("stop_sequences");  // must be a list of strings
  read_fields(params, call, request, place::kMessages);
  form.stops = request.stop;
  if (!params.has("max_tokens") && !params.is_null("max_tokens"))
    throw invalid_request("max_tokens", "max_tokens is missing");
  read_max_tokens(params, call, request, place::kMessages);
  refuse_demands(params);
  read_hints(params);
  form.seed = used_seed(params, request);
  const ReplyFormat reply = constrain_chat(params, call.service, input.prompt, input.tools,
                                           input.format, request, "stop_sequences");
  params.finish();
  form.warnings = params.warnings();
  generation.stream = form.stream;
  generation.add_prompt();
  generation.writer = messages_writer(std::move(form), reply);
  return generation;
}

Reply count_tokens(const Call& call) {
  const Json body = read_body(call);
  Params params(body);
  check_model(params, call);
  const MessagesInput input = read_messages(params, call, PromptRoom::kAny);
  read_hints(params);
  params.finish();
  Json j = Json::object();
  j.set("input_tokens", std::ssize(input.prompt.ids));
  if (!params.warnings().is_null()) j.set("warnings", params.warnings());
  return HttpResponse{.body = j.dump()};
}

}  // namespace ingot
