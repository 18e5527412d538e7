// Responses of /v1/messages: a block of thinking, if there is any, and one of text.
#include "server/anthropic/messages_writer.h"

#include <utility>

#include "base/index.h"
#include "load/json_object.h"
#include "server/common/response_json.h"

namespace ingot {

namespace {

/// A block of the reply.
struct Block {
  bool is_thinking = false;
  std::string text{};

  Json json() const {
    Json j = Json::object();
    j.set("type", is_thinking ? "thinking" : "text");
    j.set(is_thinking ? "thinking" : "text", text);
    // Nothing is signed here; clients expect the member.
    if (is_thinking) j.set("signature", "");
    return j;
  }
};

class MessageWriter final : public ResponseWriter {
 public:
  MessageWriter(const Service& service, MessageForm form, const ReplyText& reply)
      : service_(service), form_(std::move(form)), reply_(reply) {
    usage_.prompt_tokens = form_.prompt_tokens;
  }

  void add_delta(std::size_t /*choice*/, const Delta& delta) override { reply_.add(delta); }

  void flush(std::size_t /*choice*/, std::string& out) override {
    begin(out);
    const ReplyText::Parts parts = reply_.take();
    add_text(true, parts.reasoning, out);
    add_text(false, parts.content, out);
  }

  void end_choice(std::size_t choice, const Outcome& outcome, std::string& out) override {
    reply_.finish();
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
    Json delta = json_object({{"stop_reason", stop_reason_}, {"stop_sequence", stop_sequence_}});
    Json j = typed("message_delta");
    j.set("delta", std::move(delta));
    j.set("usage", usage());
    event(out, j);
    event(out, typed("message_stop"));
  }

  void write_error(const ApiError& error, std::string& out) override {
    out += "event: error\n";
    append_event(out, error_json(error, ErrorForm::kAnthropic));
  }

 private:
  static Json typed(std::string_view type) {
    Json j = Json::object();
    j.set("type", type);
    return j;
  }

  /// An event about the block that is being written.
  Json of_block(std::string_view type) const {
    Json j = typed(type);
    j.set("index", static_cast<std::int64_t>(blocks_.size()) - 1);
    return j;
  }

  void event(std::string& out, const Json& json) const {
    if (form_.stream) append_event(out, *json.find("type")->as_string(), json);
  }

  /// Appends the first event of a stream.
  void begin(std::string& out) {
    if (std::exchange(has_begun_, true)) return;
    Json j = typed("message_start");
    j.set("message", message());
    event(out, j);
  }

  void add_text(bool is_thinking, const std::string& text, std::string& out) {
    if (text.empty()) return;
    if (blocks_.empty() || blocks_.back().is_thinking != is_thinking) {
      if (!blocks_.empty()) close_block(out);
      blocks_.push_back({.is_thinking = is_thinking});
      Json j = of_block("content_block_start");
      j.set("content_block", blocks_.back().json());
      event(out, j);
    }
    if (!form_.stream) {
      blocks_.back().text += text;
      return;
    }
    Json delta = typed(is_thinking ? "thinking_delta" : "text_delta");
    delta.set(is_thinking ? "thinking" : "text", text);
    Json j = of_block("content_block_delta");
    j.set("delta", std::move(delta));
    event(out, j);
  }

  void close_block(std::string& out) const { event(out, of_block("content_block_stop")); }

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
    Json j = json_object({{"id", form_.id},
                          {"type", "message"},
                          {"role", "assistant"},
                          {"model", service_.options().model_name},
                          {"content", std::move(content)},
                          {"stop_reason", stop_reason_},
                          {"stop_sequence", stop_sequence_},
                          {"usage", usage()}});
    if (!form_.warnings.is_null()) j.set("warnings", form_.warnings);
    return j;
  }

  const Service& service_;
  MessageForm form_;
  ReplyText reply_;
  Usage usage_;
  std::vector<Block> blocks_;
  Json stop_reason_;
  Json stop_sequence_;
  bool has_begun_ = false;
};

}  // namespace

std::unique_ptr<ResponseWriter> messages_writer(const Service& service, MessageForm form,
                                                const ReplyText& reply) {
  return std::make_unique<MessageWriter>(service, std::move(form), reply);
}

}  // namespace ingot
