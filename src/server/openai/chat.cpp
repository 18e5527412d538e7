// POST /v1/chat/completions: reads the request.
#include <utility>

#include "base/index.h"
#include "base/text.h"
#include "server/common/chat_prompt.h"
#include "server/common/common_params.h"
#include "server/common/constraint_params.h"
#include "server/common/message_text.h"
#include "server/common/model_choice.h"
#include "server/common/reply_constraint.h"
#include "server/common/response_json.h"
#include "server/common/tool_params.h"
#include "server/openai/chat_writer.h"
#include "server/openai/choices_writer.h"
#include "server/openai/endpoints.h"

namespace ingot {

namespace {

/// Reads the log-probabilities of a chat: `logprobs` asks for them, `top_logprobs` says how many.
std::int32_t read_logprobs(Params& params) {
  const bool wanted = params.flag("logprobs").value_or(false);
  const auto top = params.whole("top_logprobs", 0, kLogprobsMax);
  if (top && !wanted) {
    throw invalid_request("top_logprobs", "top_logprobs needs logprobs to be true");
  }
  return wanted ? static_cast<std::int32_t>(top.value_or(0)) : -1;
}

/// Reads `prediction`: the expected text, as plain text. Returns its tokens.
std::vector<std::int32_t> read_prediction(Params& params, const Service& service) {
  std::vector<std::int32_t> ids;
  params.within("prediction", [&](Params& inner) {
    if (!inner.one_of("type", {"content"})) {
      throw invalid_request("prediction.type", "prediction.type is missing, expected content");
    }
    constexpr std::string_view kContent = "content";
    const std::string place = inner.full(kContent);
    const Json* content = inner.take(kContent);
    if (content == nullptr) refuse_at(place, "is missing");
    const std::string text = message_text(place, *content, {"text"});
    service.check_text_room(text.size(), place);
    ids = as_api([&] { return service.tokenizer().encode(text); });
    if (std::ssize(ids) > service.context()) {
      throw prompt_too_long(place, std::ssize(ids), service.context(), true);
    }
  });
  return ids;
}

}  // namespace

Reply chat_completions(const Call& call) {
  const Json body = read_body(call);
  Params params(body);
  const ChosenModel model = read_model(params, call);
  ChatForm form{.stream = read_stream(params)};
  Generation generation;
  Request& request = generation.request;
  request.adapters = model.adapters;
  const RequestTools tools = read_chat_tools(params);
  form.has_function_call = tools.is_legacy;
  ChatPrompt chat = read_chat(params, call, tools);
  request.prompt = std::move(chat.ids);
  read_fields(params, call, request, place::kChat);
  request.prediction = read_prediction(params, call.service);
  const auto format = read_constraint(params);
  refuse_unsupported(params);
  read_without_effect(params);
  params.refuse("suffix", "is not supported");
  request.sampling.logprobs = read_logprobs(params);
  if (request.sampling.logprobs >= 0) {
    form.logprob = [&service = call.service](const TokenLogprobs& logprobs) {
      return chat_logprob(service, logprobs);
    };
  }
  read_max_tokens(params, call, request, place::kChat);
  generation.choices = static_cast<std::int32_t>(params.whole("n", 1, kChoicesMax).value_or(1));
  form.token_ids = params.flag("return_token_ids").value_or(false);
  std::string once;
  if (form.token_ids) {
    once = cat(",\"prompt_token_ids\":", ids_json(request.prompt).dump());
  }
  if (params.flag("echo").value_or(false)) throw invalid_request("echo", "echo can only be false");
  const Json seed = used_seed(params, request);
  const ReplyFormat reply = constrain_chat(params, call.service, chat, tools, format, request);
  params.finish();
  once += warnings_member(params.warnings());
  generation.stream = form.stream.stream;
  form.choices = to_size(generation.choices);
  form.prompt_tokens = std::ssize(request.prompt);
  generation.add_prompt();
  std::string head = response_head_json(
      model, cat("chatcmpl-", call.id),
      form.stream.stream ? "chat.completion.chunk" : "chat.completion", Service::now(), seed);
  generation.writer = chat_writer(std::move(form), std::move(head), std::move(once), reply);
  return generation;
}

}  // namespace ingot
