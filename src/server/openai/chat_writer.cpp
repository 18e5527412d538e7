// Writes the replies of chats: reasoning, content and calls, as chunks or as one message.
#include "server/openai/chat_writer.h"

#include <utility>
#include <vector>

#include "base/text.h"
#include "load/json_object.h"
#include "server/common/response_json.h"
#include "server/openai/choices_writer.h"

namespace ingot {

namespace {

using Kind = ReplyEvent::Kind;

/// A call of a tool. `body` names the member with its name and input.
struct ReplyCall {
  std::string id;
  std::string name;
  bool is_custom = false;
  std::string input{};

  std::string_view body() const { return is_custom ? "custom" : "function"; }
  std::string_view input_name() const { return is_custom ? "input" : "arguments"; }
  Json json() const {
    return json_object({{"id", id},
                        {"type", body()},
                        {body(), json_object({{"name", name}, {input_name(), input}})}});
  }
};

/// The parts of a reply that a whole response collects. A stream has only the calls' names.
struct ReplyParts {
  std::string reasoning{};
  std::string content{};
  std::vector<ReplyCall> calls{};
};

class ChatWriter final : public ChoicesWriter {
 public:
  ChatWriter(ChatForm form, std::string head, std::string once, const ReplyFormat& reply)
      : ChoicesWriter(std::move(head), std::move(once), form.stream, form.choices,
                      form.prompt_tokens),
        form_(std::move(form)),
        reply_(reply) {
    for (std::size_t i = 0; i < form_.choices; ++i) choices_.emplace_back(reply_);
  }

  void add_delta(std::size_t number, const Delta& delta) override {
    count(delta);
    Choice& choice = choices_[number];
    choice.reader.add(delta);
    if (form_.token_ids) {
      choice.ids.insert(choice.ids.end(), delta.ids.begin(), delta.ids.end());
    }
    if (!form_.logprob) return;
    for (const TokenLogprobs& t : delta.logprobs) choice.logprobs.push(form_.logprob(t));
  }

  bool wants_end(std::size_t number) const override {
    return choices_[number].reader.has_stopped();
  }

  void flush(std::size_t number, std::string& out) override {
    Choice& choice = choices_[number];
    // The role is sent once, before everything else.
    if (!std::exchange(choice.has_begun, true)) {
      append_delta(out, number, "\"role\":\"assistant\",\"content\":\"\"", false);
    }
    for (const ReplyEvent& event : choice.reader.take()) {
      const std::string members = event_members(choice, event);
      if (!members.empty()) append_delta(out, number, members, true);
    }
    const bool has_tokens = !choice.logprobs.as_array()->empty() || !choice.ids.empty();
    if (has_tokens) append_delta(out, number, "\"content\":\"\"", true);
  }

  void end_choice(std::size_t number, const Outcome& outcome, std::string& out) override {
    Choice& choice = choices_[number];
    usage_.add(outcome, number == 0);
    choice.reader.finish();
    usage_.reasoning_tokens += choice.reader.reasoning_tokens();
    if (form_.stream.stream) flush(number, out);
    choice.finish = choice.reader.finish_reason(outcome);
    if (form_.has_function_call && choice.finish == "tool_calls") choice.finish = "function_call";
    if (form_.stream.stream) append_delta(out, number, {}, false);
  }

 private:
  struct Choice {
    explicit Choice(const ReplyFormat& reply) : reader(reply) {}

    ReplyReader reader;
    ReplyParts parts{};
    bool has_begun = false;  ///< its first chunk was written
    std::vector<std::int32_t> ids{};
    Json logprobs = Json::array();
    std::string_view finish{};
  };

  ReplyCall begin_call(const std::string& name) const {
    const Tool* tool = reply_.find_tool(name);
    return {.id = new_call_id(),
            .name = name,
            .is_custom = tool != nullptr && tool->kind == Tool::Kind::kCustom};
  }

  /// The members of a chunk's delta for an event; empty if the event has none.
  std::string event_members(Choice& choice, const ReplyEvent& event) const {
    switch (event.kind) {
      case Kind::kReasoning: {
        const std::string text = json_string(event.text);
        return cat("\"reasoning_content\":", text, ",\"reasoning\":", text);
      }
      case Kind::kContent:
        return cat("\"content\":", json_string(event.text));
      case Kind::kCallBegin:
        choice.parts.calls.push_back(begin_call(event.text));
        return call_members(event.call, choice.parts.calls.back().json());
      case Kind::kCallArguments: {
        const ReplyCall& call = choice.parts.calls[event.call];
        Json body = json_object({{call.input_name(), event.text}});
        return call_members(event.call, json_object({{call.body(), std::move(body)}}));
      }
      case Kind::kCallEnd:
        break;
    }
    return {};
  }

  /// Formats a part of a call as the members of a delta.
  std::string call_members(std::size_t number, const Json& part) const {
    if (form_.has_function_call) {
      return number == 0 ? cat("\"function_call\":", part.find("function")->dump()) : "";
    }
    const std::string members = part.dump();
    return cat("\"tool_calls\":[{\"index\":", number, ",", members.substr(1), "]");
  }

  void append_delta(std::string& out, std::size_t number, std::string_view members,
                    bool has_tokens) {
    begin_chunk(out);
    out += cat("{\"index\":", number, ",\"delta\":{", members, "}");
    append_rest(out, choices_[number], has_tokens);
    end_chunk(out);
  }

  void append_choice(std::string& out, std::size_t number) override {
    Choice& choice = choices_[number];
    collect(choice);
    out += cat("{\"index\":", number, ",\"message\":", message(choice).dump());
    append_rest(out, choice, true);
  }

  /// Appends what stands behind a choice's text, with its tokens since the last call or without.
  void append_rest(std::string& out, Choice& choice, bool has_tokens) const {
    out += ",\"logprobs\":";
    if (form_.logprob && has_tokens) {
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

  /// Joins the events of a whole reply.
  void collect(Choice& choice) const {
    ReplyParts& parts = choice.parts;
    for (ReplyEvent& event : choice.reader.take()) {
      switch (event.kind) {
        case Kind::kReasoning:
          parts.reasoning += event.text;
          break;
        case Kind::kContent:
          parts.content += event.text;
          break;
        case Kind::kCallBegin:
          parts.calls.push_back(begin_call(event.text));
          break;
        case Kind::kCallArguments:
          parts.calls[event.call].input += event.text;
          break;
        case Kind::kCallEnd:
          break;
      }
    }
  }

  Json message(Choice& choice) const {
    ReplyParts& parts = choice.parts;
    const bool has_calls = !parts.calls.empty();
    const bool is_null = has_calls && parts.content.empty();
    Json message = json_object({{"role", "assistant"},
                                {"content", is_null ? Json() : Json(std::move(parts.content))},
                                {"refusal", Json()}});
    if (choice.reader.shows_reasoning() || !parts.reasoning.empty()) {
      const Json reasoning = parts.reasoning.empty() ? Json() : Json(std::move(parts.reasoning));
      message.set("reasoning_content", reasoning);
      message.set("reasoning", reasoning);
    }
    if (!has_calls) return message;
    if (form_.has_function_call) {
      const Json call = parts.calls.front().json();
      message.set("function_call", *call.find("function"));
      return message;
    }
    Json calls = Json::array();
    for (const ReplyCall& call : parts.calls) calls.push(call.json());
    message.set("tool_calls", std::move(calls));
    return message;
  }

  ChatForm form_;
  ReplyFormat reply_;
  std::vector<Choice> choices_;
};

}  // namespace

std::unique_ptr<ResponseWriter> chat_writer(ChatForm form, std::string head, std::string once,
                                            const ReplyFormat& reply) {
  return std::make_unique<ChatWriter>(std::move(form), std::move(head), std::move(once), reply);
}

}  // namespace ingot
