// POST /v1/chat/completions: reads the request and writes chunks or the response.
#include <memory>
#include <utility>

#include "base/index.h"
#include "base/text.h"
#include "load/json_object.h"
#include "server/common/chat_prompt.h"
#include "server/common/common_params.h"
#include "server/common/reply_text.h"
#include "server/common/response_json.h"
#include "server/openai/choices_writer.h"
#include "server/openai/endpoints.h"

namespace ingot {

namespace {

/// The parts of a request that shape its response.
struct ChatForm {
  StreamParams stream{};
  bool logprobs = false;
  bool token_ids = false;  ///< return_token_ids
};

class ChatWriter final : public ChoicesWriter {
 public:
  ChatWriter(const Service& service, ChatForm form, std::string head, std::string once,
             const ReplyText& reply, std::size_t choices, std::int64_t prompt_tokens)
      : ChoicesWriter(std::move(head), std::move(once), form.stream, choices, prompt_tokens),
        service_(service),
        form_(form),
        choices_(choices, Choice{.reply = reply}) {}

  void add_delta(std::size_t number, const Delta& delta) override {
    count(delta);
    Choice& choice = choices_[number];
    choice.reply.add(delta);
    if (form_.token_ids) {
      choice.ids.insert(choice.ids.end(), delta.ids.begin(), delta.ids.end());
    }
    if (!form_.logprobs) return;
    for (const TokenLogprobs& t : delta.logprobs) choice.logprobs.push(chat_logprob(service_, t));
  }

  void flush(std::size_t number, std::string& out) override {
    Choice& choice = choices_[number];
    // The role is sent once, before everything else.
    if (!std::exchange(choice.has_begun, true)) {
      append_delta(out, number, "\"role\":\"assistant\",\"content\":\"\"", false);
    }
    const ReplyText::Parts parts = choice.reply.take();
    const bool has_tokens = !choice.logprobs.as_array()->empty() || !choice.ids.empty();
    if (parts.content.empty() && parts.reasoning.empty() && !has_tokens) return;
    std::string members;
    if (!parts.reasoning.empty()) {
      const std::string text = json_string(parts.reasoning);
      members = cat("\"reasoning_content\":", text, ",\"reasoning\":", text);
    }
    if (!parts.content.empty() || members.empty()) {
      members += cat(members.empty() ? "" : ",", "\"content\":", json_string(parts.content));
    }
    append_delta(out, number, members, true);
  }

  void end_choice(std::size_t number, const Outcome& outcome, std::string& out) override {
    Choice& choice = choices_[number];
    usage_.add(outcome, number == 0);
    choice.reply.finish();
    usage_.reasoning_tokens += choice.reply.reasoning_tokens();
    if (form_.stream.stream) flush(number, out);
    choice.finish = to_string(outcome.finish);
    if (form_.stream.stream) append_delta(out, number, {}, false);
  }

 private:
  struct Choice {
    ReplyText reply;
    bool has_begun = false;  ///< its first chunk was written
    std::vector<std::int32_t> ids{};
    Json logprobs = Json::array();
    std::string_view finish{};
  };

  void append_delta(std::string& out, std::size_t number, std::string_view members,
                    bool has_tokens) {
    begin_chunk(out);
    out += cat("{\"index\":", number, ",\"delta\":{", members, "}");
    append_rest(out, choices_[number], has_tokens);
    end_chunk(out);
  }

  void append_choice(std::string& out, std::size_t number) override {
    Choice& choice = choices_[number];
    out += cat("{\"index\":", number, ",\"message\":", message(choice).dump());
    append_rest(out, choice, true);
  }

  /// Appends what stands behind a choice's text, with its tokens since the last call or without.
  void append_rest(std::string& out, Choice& choice, bool has_tokens) const {
    out += ",\"logprobs\":";
    if (form_.logprobs && has_tokens) {
      out += cat("{\"content\":", std::exchange(choice.logprobs, Json::array()).dump(), "}");
    } else {
      out += "null";
    }
    out += cat(",\"finish_reason\":", finish_json(choice.finish));
    if (form_.token_ids && has_tokens) {
      out += cat(",\"token_ids\":", ids_json(std::exchange(choice.ids, {})).dump());
    }
    out += '}';
  }

  static Json message(Choice& choice) {
    ReplyText::Parts parts = choice.reply.take();
    Json message = json_object(
        {{"role", "assistant"}, {"content", std::move(parts.content)}, {"refusal", Json()}});
    if (choice.reply.has_reasoning()) {
      const Json reasoning = parts.reasoning.empty() ? Json() : Json(std::move(parts.reasoning));
      message.set("reasoning_content", reasoning);
      message.set("reasoning", reasoning);
    }
    return message;
  }

  const Service& service_;
  ChatForm form_;
  std::vector<Choice> choices_;
};

/// Reads the log-probabilities of a chat: `logprobs` asks for them, `top_logprobs` says how many.
std::int32_t read_logprobs(Params& params) {
  const bool wanted = params.flag("logprobs").value_or(false);
  const auto top = params.whole("top_logprobs", 0, kLogprobsMax);
  if (top && !wanted) {
    throw invalid_request("top_logprobs", "top_logprobs needs logprobs to be true");
  }
  return wanted ? static_cast<std::int32_t>(top.value_or(0)) : -1;
}

}  // namespace

Reply chat_completions(const Call& call) {
  const Json body = read_body(call);
  Params params(body);
  const std::string model = call.service.read_model(params);
  ChatForm form{.stream = read_stream(params)};
  Generation generation;
  Request& request = generation.request;
  ChatPrompt chat = read_chat(params, call.service, {});
  const ReplyText reply(chat);
  request.prompt = std::move(chat.ids);
  read_fields(params, call, request, place::kChat);
  read_unsupported(params);
  params.refuse("suffix", "is not supported");
  request.sampling.logprobs = read_logprobs(params);
  form.logprobs = request.sampling.logprobs >= 0;
  read_max_tokens(params, call, request, place::kChat);
  generation.choices = static_cast<std::int32_t>(params.whole("n", 1, kChoicesMax).value_or(1));
  form.token_ids = params.flag("return_token_ids").value_or(false);
  std::string once;
  if (form.token_ids) {
    once = cat(",\"prompt_token_ids\":", ids_json(request.prompt).dump());
  }
  if (params.flag("echo").value_or(false)) throw invalid_request("echo", "echo can only be false");
  const Json seed = used_seed(params, request);
  params.finish();
  once += warnings_member(params.warnings());
  generation.stream = form.stream.stream;
  const auto choices = to_size(generation.choices);
  const std::int64_t prompt_tokens = std::ssize(request.prompt);
  generation.add_prompt();
  std::string head = response_head_json(
      call.service, model, cat("chatcmpl-", call.id),
      form.stream.stream ? "chat.completion.chunk" : "chat.completion", Service::now(), seed);
  generation.writer = std::make_unique<ChatWriter>(call.service, form, std::move(head),
                                                   std::move(once), reply, choices, prompt_tokens);
  return generation;
}

}  // namespace ingot
