// Writes responses of POST /v1/messages: a block of thinking, if there is any, and a block of text.
#include "server/anthropic/messages_writer.h"

#include <initializer_list>
#include <utility>

#include "base/index.h"
#include "base/text.h"
#include "load/json_object.h"
#include "server/common/response_json.h"

namespace ingot {

namespace {

/// A block of the reply.
struct Block {
  bool is_thinking = false;
  std::string text{};

  std::string_view type() const { return is_thinking ? "thinking" : "text"; }
  Json json() const {
    Json j = json_object({{"type", type()}, {type(), text}});
    // Clients expect a signature; it is empty, since nothing is signed here.
    if (is_thinking) j.set("signature", "");
    return j;
  }
};

class MessageWriter final : public ResponseWriter {
 public:
  MessageWriter(MessageForm form, const ReplyText& reply) : form_(std::move(form)), reply_(reply) {
    usage_.prompt_tokens = form_.prompt_tokens;
  }

  void add_delta(std::size_t /*choice*/, const Delta& delta) override {
    usage_.cached_tokens = delta.cached_tokens;
    reply_.add(delta);
  }

  void flush(std::size_t /*choice*/, std::string& out) override {
    begin(out);
    const ReplyText::Parts parts = reply_.take();
    add_text(true, parts.reasoning, out);
    add_text(false, parts.content, out);
  }

  void end_choice(std::size_t choice, const Outcome& outcome, std::string& out) override {
    reply_.finish();
    usage_.cached_tokens = outcome.cached_tokens;
    flush(choice, out);
    if (!blocks_.empty()) close_block(out);
    usage_ = {};
    usage_.add(outcome, true);
    set_stop(outcome);
  }

  void finish(std::string& out) override {
    if (!form_.stream) {
      out = message().dump();
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

  void add_text(bool is_thinking, const std::string& text, std::string& out) {
    if (text.empty()) return;
    if (blocks_.empty() || blocks_.back().is_thinking != is_thinking) {
      if (!blocks_.empty()) close_block(out);
      blocks_.push_back({.is_thinking = is_thinking});
      event(out, "content_block_start",
            {{"index", index()}, {"content_block", blocks_.back().json()}});
    }
    Block& block = blocks_.back();
    if (!form_.stream) {
      block.text += text;
      return;
    }
    const std::string_view type = is_thinking ? "thinking_delta" : "text_delta";
    event(out, "content_block_delta",
          {{"index", index()}, {"delta", json_object({{"type", type}, {block.type(), text}})}});
  }

  void close_block(std::string& out) const {
    event(out, "content_block_stop", {{"index", index()}});
  }

  void set_stop(const Outcome& outcome) {
    stop_reason_ = outcome.finish == FinishReason::kLength ? "max_tokens" : "end_turn";
    if (outcome.stop < 0) return;
    stop_reason_ = "stop_sequence";
    stop_sequence_ = at(form_.stops, outcome.stop);
  }

  /// Cached tokens count apart from computed ones.
  Json usage() const {
    return json_object({{"input_tokens", usage_.prompt_tokens - usage_.cached_tokens},
                        {"cache_creation_input_tokens", 0},
                        {"cache_read_input_tokens", usage_.cached_tokens},
                        {"output_tokens", usage_.completion_tokens}});
  }

  Json message() {
    Json content = Json::array();
    for (const Block& block : blocks_) content.push(block.json());
    Json j = json_object({{"id", cat("msg_", form_.id)},
                          {"type", "message"},
                          {"role", "assistant"},
                          {"model", form_.model},
                          {"content", std::move(content)},
                          {"stop_reason", stop_reason_},
                          {"stop_sequence", stop_sequence_},
                          {"usage", usage()},
                          {"seed", form_.seed}});
    if (!form_.warnings.is_null()) j.set("warnings", form_.warnings);
    return j;
  }

  MessageForm form_;
  ReplyText reply_;
  Usage usage_;
  std::vector<Block> blocks_;
  Json stop_reason_;
  Json stop_sequence_;
  bool has_begun_ = false;
};

}  // namespace

std::unique_ptr<ResponseWriter> messages_writer(MessageForm form, const ReplyText& reply) {
  return std::make_unique<MessageWriter>(std::move(form), reply);
}

}  // namespace ingot
