// Writes responses of POST /v1/messages: blocks of thinking, of text, and of calls.
#include "server/anthropic/messages_writer.h"

#include <initializer_list>
#include <utility>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "base/utf8.h"
#include "load/json_object.h"
#include "server/common/response_json.h"
#include "server/common/thinking_signature.h"

namespace ingot {

namespace {

using Kind = ReplyEvent::Kind;

/// Maximum depth of arguments that are parsed.
constexpr std::int32_t kDepthMax = 256;

bool is_deep(std::string_view json) {
  std::int32_t depth = 0;
  bool is_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (is_string && c == '\\') ++i;
    if (c == '"') is_string = !is_string;
    if (is_string) continue;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (depth > kDepthMax) return true;
  }
  return false;
}

/// The arguments of a call as JSON text. Complete ones may be deeper than the parser allows. Those
/// of a call that was cut are no JSON: an empty object.
std::string input_of(const std::string& arguments, bool is_complete) {
  try {
    return parse_json(arguments, "call", "arguments", {.depth_max = kDepthMax}).dump();
  } catch (const Error&) {
    return is_complete && is_deep(arguments) ? to_valid_utf8(arguments) : "{}";
  }
}

/// A block of the reply.
struct Block {
  enum class Type { kThinking, kText, kCall };

  Type type = Type::kText;
  /// Thinking, text or the arguments of a call. A stream needs only the thinking, to sign it.
  std::string text{};
  std::string id{};          ///< a call's id
  std::string name{};        ///< name of the called tool
  bool is_complete = false;  ///< for a call: its arguments have ended

  std::string_view type_name() const {
    return type == Type::kCall ? "tool_use" : type == Type::kThinking ? "thinking" : "text";
  }

  /// The block as it begins in a stream: a call has no input yet.
  Json json() const {
    if (type == Type::kCall) {
      return json_object(
          {{"type", "tool_use"}, {"id", id}, {"name", name}, {"input", Json::object()}});
    }
    Json j = json_object({{"type", type_name()}, {type_name(), text}});
    // A block that begins has no signature yet: see signature_delta.
    if (type == Type::kThinking) j.set("signature", text.empty() ? "" : signature());
    return j;
  }

  /// The whole block as JSON text.
  std::string whole() const {
    if (type != Type::kCall) return json().dump();
    const Json head = json_object({{"type", "tool_use"}, {"id", id}, {"name", name}});
    const std::string text_before = head.dump();
    return cat(text_before.substr(0, text_before.size() - 1),
               ",\"input\":", input_of(text, is_complete), "}");
  }

  /// JSON has U+FFFD in place of invalid bytes, so this text is signed.
  std::string signature() const { return ThinkingSigner::of_process().sign(to_valid_utf8(text)); }
};

class MessageWriter final : public ResponseWriter {
 public:
  MessageWriter(MessageForm form, const ReplyFormat& reply)
      : form_(std::move(form)), reply_(reply) {
    usage_.prompt_tokens = form_.prompt_tokens;
  }

  void add_delta(std::size_t /*choice*/, const Delta& delta) override {
    usage_.cached_tokens = delta.cached_tokens;
    reply_.add(delta);
  }

  bool wants_end(std::size_t /*choice*/) const override { return reply_.has_stopped(); }

  void flush(std::size_t /*choice*/, std::string& out) override {
    begin(out);
    for (const ReplyEvent& event : reply_.take()) add_event(event, out);
  }

  void end_choice(std::size_t choice, const Outcome& outcome, std::string& out) override {
    reply_.finish();
    usage_.cached_tokens = outcome.cached_tokens;
    flush(choice, out);
    end_open_block(out);
    usage_ = {};
    usage_.add(outcome, true);
    set_stop(outcome);
  }

  void finish(std::string& out) override {
    if (!form_.stream) {
      out = whole_message();
      return;
    }
    event(
        out, "message_delta",
        {{"delta", json_object({{"stop_reason", stop_reason_}, {"stop_sequence", stop_sequence_}})},
         {"usage", usage()}});
    event(out, "message_stop");
  }

  void write_error(const ApiError& error, std::string& out) override {
    out += "event: error\n";
    append_event(out, error_json(error, ErrorForm::kAnthropic, form_.id));
  }

 private:
  /// The number of the block that is being written.
  std::int64_t index() const { return std::ssize(blocks_) - 1; }

  void event(std::string& out, std::string_view type,
             std::initializer_list<JsonMember> members = {}) const {
    if (!form_.stream) return;
    Json j = json_object({{"type", type}});
    for (const JsonMember& m : members) j.set(std::string(m.name), std::move(m.value));
    append_event(out, type, j);
  }

  /// Appends the first event of a stream. Its usage needs the first delta, or the outcome.
  void begin(std::string& out) {
    if (!std::exchange(has_begun_, true)) event(out, "message_start", {{"message", message()}});
  }

  void add_event(const ReplyEvent& event, std::string& out) {
    switch (event.kind) {
      case Kind::kReasoning:
        add_text(Block::Type::kThinking, event.text, out);
        break;
      case Kind::kContent:
        add_text(Block::Type::kText, event.text, out);
        break;
      case Kind::kCallBegin:
        open_block({.type = Block::Type::kCall, .id = new_call_id("toolu_"), .name = event.text},
                   out);
        break;
      case Kind::kCallArguments:
        if (!form_.stream) blocks_.back().text += event.text;
        delta_event(out, "input_json_delta", {"partial_json", event.text});
        break;
      case Kind::kCallEnd:
        blocks_.back().is_complete = true;
        end_open_block(out);
        break;
    }
  }

  void add_text(Block::Type type, const std::string& text, std::string& out) {
    if (!is_open_ || blocks_.back().type != type) open_block({.type = type}, out);
    Block& block = blocks_.back();
    const bool is_thinking = type == Block::Type::kThinking;
    if (!form_.stream || is_thinking) block.text += text;
    delta_event(out, is_thinking ? "thinking_delta" : "text_delta", {block.type_name(), text});
  }

  void open_block(Block block, std::string& out) {
    end_open_block(out);
    blocks_.push_back(std::move(block));
    is_open_ = true;
    event(out, "content_block_start",
          {{"index", index()}, {"content_block", blocks_.back().json()}});
  }

  void end_open_block(std::string& out) {
    if (!std::exchange(is_open_, false)) return;
    const Block& block = blocks_.back();
    if (block.type == Block::Type::kThinking && form_.stream) {
      delta_event(out, "signature_delta", {"signature", block.signature()});
    }
    event(out, "content_block_stop", {{"index", index()}});
  }

  void delta_event(std::string& out, std::string_view type, JsonMember member) {
    event(out, "content_block_delta",
          {{"index", index()}, {"delta", json_object({{"type", type}, std::move(member)})}});
  }

  void set_stop(const Outcome& outcome) {
    const std::string_view reason = reply_.finish_reason(outcome);
    stop_reason_ = reason == "length"       ? "max_tokens"
                   : reason == "tool_calls" ? "tool_use"
                                            : "end_turn";
    const std::int32_t stop = reply_.has_stopped() ? reply_.stop() : outcome.stop;
    if (stop < 0) return;
    stop_reason_ = "stop_sequence";
    stop_sequence_ = at(form_.stops, stop);
  }

  /// Cached tokens count apart from computed ones.
  Json usage() const {
    return json_object({{"input_tokens", usage_.prompt_tokens - usage_.cached_tokens},
                        {"cache_creation_input_tokens", 0},
                        {"cache_read_input_tokens", usage_.cached_tokens},
                        {"output_tokens", usage_.completion_tokens}});
  }

  /// The message without its blocks.
  Json message() const {
    Json j = json_object({{"id", cat("msg_", form_.id)},
                          {"type", "message"},
                          {"role", "assistant"},
                          {"model", form_.model},
                          {"content", Json::array()},
                          {"stop_reason", stop_reason_},
                          {"stop_sequence", stop_sequence_},
                          {"usage", usage()},
                          {"seed", form_.seed}});
    if (!form_.warnings.is_null()) j.set("warnings", form_.warnings);
    return j;
  }

  std::string whole_message() const {
    std::string blocks;
    for (const Block& block : blocks_) blocks += cat(blocks.empty() ? "" : ",", block.whole());
    std::string text = message().dump();
    // Strings have no quotes without a backslash, so this is the member.
    constexpr std::string_view kContent = "\"content\":[";
    text.insert(text.find(kContent) + kContent.size(), blocks);
    return text;
  }

  MessageForm form_;
  ReplyReader reply_;
  Usage usage_;
  std::vector<Block> blocks_;
  bool is_open_ = false;  ///< whether the last block is open
  Json stop_reason_;
  Json stop_sequence_;
  bool has_begun_ = false;
};

}  // namespace

std::unique_ptr<ResponseWriter> messages_writer(MessageForm form, const ReplyFormat& reply) {
  return std::make_unique<MessageWriter>(std::move(form), reply);
}

}  // namespace ingot
