// POST /v1/chat/completions
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "server/common/chat_prompt.h"
#include "server/common/params.h"
#include "server/common/reply_text.h"
#include "server/common/shapes.h"
#include "server/openai/endpoints.h"

namespace ingot {

namespace {

/// What a response says of itself, and what was asked to be in it.
struct ChatForm {
  std::string id;
  std::int64_t created = 0;
  StreamParams stream{};
  bool logprobs = false;
  bool token_ids = false;  ///< return_token_ids
  Json prompt_ids{};       ///< null unless token_ids
  Json warnings{};
};

class ChatAnswer final : public Answer {
 public:
  ChatAnswer(Service& service, ChatForm form, const ReplyText& reply, std::size_t choices)
      : service_(service),
        form_(std::move(form)),
        head_(chunk_head(service, form_.id, "chat.completion.chunk", form_.created)),
        choices_(choices, Choice{.reply = reply}) {}

  void piece(std::size_t number, const Delta& delta) override {
    Choice& choice = choices_[number];
    choice.reply.add(delta);
    if (form_.token_ids) {
      choice.ids.insert(choice.ids.end(), delta.ids.begin(), delta.ids.end());
    }
    if (!form_.logprobs) return;
    for (const TokenLogprobs& t : delta.logprobs) choice.logprobs.push(chat_logprob(service_, t));
  }

  void flush(std::size_t number, std::string& out) override {
    begin_choice(out, number);
    Choice& choice = choices_[number];
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
    std::string further;
    if (form_.token_ids) {
      further = cat(",\"token_ids\":", ids_json(std::exchange(choice.ids, {})).dump());
    }
    const Json logprobs = std::exchange(choice.logprobs, Json::array());
    append_chunk(out, number, cat("{", members, "}"), form_.logprobs ? &logprobs : nullptr, {},
                 further);
  }

  void ended(std::size_t number, const Outcome& outcome, std::string& out) override {
    Choice& choice = choices_[number];
    usage_.add(outcome, number == 0);
    choice.reply.finish();
    usage_.reasoning_tokens += choice.reply.reasoning_tokens();
    choice.finish = to_string(outcome.finish);
    if (!form_.stream.stream) return;
    flush(number, out);
    append_chunk(out, number, "{}", nullptr, choice.finish);
  }

  void finish(std::string& out) override {
    if (!form_.stream.stream) {
      out = whole().dump();
      return;
    }
    if (form_.stream.include_usage) {
      append_event(out, cat(head_, ",\"choices\":[],\"usage\":", usage_.json().dump(), "}"));
    }
    out += kDoneEvent;
  }

  void fail(const ApiError& error, std::string& out) override {
    append_event(out, error_json(error));
  }

 private:
  struct Choice {
    ReplyText reply;
    bool has_begun = false;  ///< its first chunk was sent
    std::vector<std::int32_t> ids{};
    Json logprobs = Json::array();
    std::string_view finish{};
  };

  /// What every chunk begins with, without the closing brace; the first one says what is of all.
  void append_head(std::string& out) {
    out += head_;
    if (std::exchange(has_begun_, true)) return;
    if (form_.token_ids) out += cat(",\"prompt_token_ids\":", form_.prompt_ids.dump());
    if (!form_.warnings.is_null()) out += cat(",\"warnings\":", form_.warnings.dump());
  }

  void append_chunk(std::string& out, std::size_t number, std::string_view delta,
                    const Json* logprobs, std::string_view finish, std::string_view further = {}) {
    out += kEventBegin;
    append_head(out);
    out += cat(",\"choices\":[{\"index\":", number, ",\"delta\":", delta, ",\"logprobs\":");
    if (logprobs == nullptr) {
      out += "null";
    } else {
      out += cat("{\"content\":", logprobs->dump(), "}");
    }
    out += ",\"finish_reason\":";
    out += finish.empty() ? "null" : json_string(finish);
    out += further;
    out += form_.stream.include_usage ? "}],\"usage\":null}" : "}]}";
    out += kEventEnd;
  }

  /// The role comes once, in front of all else.
  void begin_choice(std::string& out, std::size_t number) {
    if (std::exchange(choices_[number].has_begun, true)) return;
    append_chunk(out, number, "{\"role\":\"assistant\",\"content\":\"\"}", nullptr, {});
  }

  Json message(Choice& choice) {
    ReplyText::Parts parts = choice.reply.take();
    Json message = Json::object();
    message.set("role", "assistant");
    message.set("content", std::move(parts.content));
    message.set("refusal", Json());
    if (choice.reply.has_reasoning()) {
      const Json reasoning = parts.reasoning.empty() ? Json() : Json(std::move(parts.reasoning));
      message.set("reasoning_content", reasoning);
      message.set("reasoning", reasoning);
    }
    return message;
  }

  Json whole() {
    Json all = Json::array();
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      Choice& choice = choices_[i];
      Json j = Json::object();
      j.set("index", static_cast<std::int64_t>(i));
      j.set("message", message(choice));
      Json logprobs;
      if (form_.logprobs) {
        logprobs = Json::object();
        logprobs.set("content", std::move(choice.logprobs));
      }
      j.set("logprobs", std::move(logprobs));
      j.set("finish_reason", choice.finish);
      if (form_.token_ids) j.set("token_ids", ids_json(choice.ids));
      all.push(std::move(j));
    }
    Json j = Json::object();
    j.set("id", form_.id);
    j.set("object", "chat.completion");
    j.set("created", form_.created);
    j.set("model", service_.options().model_name);
    j.set("system_fingerprint", service_.options().fingerprint);
    j.set("choices", std::move(all));
    j.set("usage", usage_.json());
    if (form_.token_ids) j.set("prompt_token_ids", std::move(form_.prompt_ids));
    if (!form_.warnings.is_null()) j.set("warnings", std::move(form_.warnings));
    return j;
  }

  Service& service_;
  ChatForm form_;
  const std::string head_;
  std::vector<Choice> choices_;
  Usage usage_;
  bool has_begun_ = false;
};

/// Log-probabilities of a chat: `logprobs` says whether, `top_logprobs` how many.
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
  call.service.check_model(params.take("model"));
  ChatForm form{.id = cat("chatcmpl-", call.id), .created = Service::now()};
  form.stream = read_stream(params);
  GenerationPrompt prompt;
  ChatPrompt chat = read_chat(params, call.service);
  const ReplyText reply(chat);
  prompt.request.prompt = std::move(chat.ids);
  read_sampling(params, call, prompt.request);
  read_unsupported(params);
  prompt.request.sampling.logprobs = read_logprobs(params);
  form.logprobs = prompt.request.sampling.logprobs >= 0;
  read_max_tokens(params, call, prompt.request, {"max_completion_tokens", "max_tokens"},
                  call.service.options().limits.max_tokens_default);
  prompt.choices = static_cast<std::int32_t>(params.whole("n", 1, kChoicesMax).value_or(1));
  form.token_ids = params.flag("return_token_ids").value_or(false);
  if (form.token_ids) form.prompt_ids = ids_json(prompt.request.prompt);
  if (params.flag("echo").value_or(false)) throw invalid_request("echo", "echo can only be false");
  params.finish();
  form.warnings = params.warnings();
  Generation generation;
  generation.stream = form.stream.stream;
  const auto choices = static_cast<std::size_t>(prompt.choices);
  generation.prompts.push_back(std::move(prompt));
  generation.answer = std::make_unique<ChatAnswer>(call.service, std::move(form), reply, choices);
  return generation;
}

}  // namespace ingot
