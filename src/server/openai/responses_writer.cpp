// Writes responses of POST /v1/responses: an item of reasoning, if there is any, and a message.
#include "server/openai/responses_writer.h"

#include <utility>
#include <vector>

#include "base/text.h"
#include "load/json_object.h"
#include "server/common/response_json.h"

namespace ingot {

namespace {

/// An output item with its only part.
struct Item {
  bool is_reasoning = false;
  std::string id;
  std::string text{};
  Json logprobs = Json::array();

  Json part() const {
    Json j =
        json_object({{"type", is_reasoning ? "reasoning_text" : "output_text"}, {"text", text}});
    if (is_reasoning) return j;
    j.set("annotations", Json::array());
    j.set("logprobs", logprobs);
    return j;
  }

  /// The item has no part before its first event.
  Json json(std::string_view status, bool has_part) const {
    Json parts = Json::array();
    if (has_part) parts.push(part());
    Json j = json_object(
        {{"id", id}, {"type", is_reasoning ? "reasoning" : "message"}, {"status", status}});
    if (is_reasoning) {
      j.set("summary", Json::array());
    } else {
      j.set("role", "assistant");
    }
    j.set("content", std::move(parts));
    return j;
  }
};

class ResponsesWriter final : public ResponseWriter {
 public:
  ResponsesWriter(const Service& service, ResponseForm form, const ReplyText& reply)
      : service_(service), form_(std::move(form)), reply_(reply) {}

  void add_delta(std::size_t /*choice*/, const Delta& delta) override {
    reply_.add(delta);
    if (!form_.logprobs || reply_.was_reasoning()) return;
    for (const TokenLogprobs& t : delta.logprobs) logprobs_.push(chat_logprob(service_, t));
  }

  void flush(std::size_t /*choice*/, std::string& out) override {
    begin(out);
    const ReplyText::Parts parts = reply_.take();
    add_text(true, parts.reasoning, out);
    add_text(false, parts.content, out);
  }

  void end_choice(std::size_t choice, const Outcome& outcome, std::string& out) override {
    reply_.finish();
    flush(choice, out);
    if (items_.empty()) open_item(false, out);
    usage_.add(outcome, true);
    usage_.reasoning_tokens = reply_.reasoning_tokens();
    status_ = outcome.finish == FinishReason::kLength ? "incomplete" : "completed";
    const Json left = take_logprobs();
    for (const Json& entry : *left.as_array()) items_.back().logprobs.push(entry);
    close_item(status_, out);
  }

  void finish(std::string& out) override {
    if (!form_.stream) out = response().dump();
    response_event(out, status_);
  }

  void write_error(const ApiError& error, std::string& out) override {
    begin(out);
    status_ = "failed";
    error_ = json_object({{"code", "server_error"}, {"message", error.message}});
    response_event(out, "failed");
  }

 private:
  /// Appends the first events of a stream.
  void begin(std::string& out) {
    if (std::exchange(has_begun_, true)) return;
    response_event(out, "created");
    response_event(out, "in_progress");
  }

  void add_text(bool is_reasoning, const std::string& text, std::string& out) {
    if (text.empty()) return;
    if (items_.empty() || items_.back().is_reasoning != is_reasoning) {
      if (!items_.empty()) close_item("completed", out);
      open_item(is_reasoning, out);
    }
    Item& item = items_.back();
    item.text += text;
    const Json logprobs = is_reasoning ? Json::array() : take_logprobs();
    for (const Json& entry : *logprobs.as_array()) item.logprobs.push(entry);
    text_event(out, "delta", {"delta", text}, logprobs);
  }

  Json take_logprobs() { return std::exchange(logprobs_, Json::array()); }

  void open_item(bool is_reasoning, std::string& out) {
    items_.push_back(
        {.is_reasoning = is_reasoning, .id = cat(is_reasoning ? "rs_" : "msg_", form_.id)});
    item_event(out, "added", items_.back().json("in_progress", false));
    part_event(out, "response.content_part.added", {"part", items_.back().part()});
  }

  void close_item(std::string_view status, std::string& out) {
    const Item& item = items_.back();
    closed_.push(item.json(status, true));
    text_event(out, "done", {"text", item.text}, item.logprobs);
    part_event(out, "response.content_part.done", {"part", item.part()});
    item_event(out, "done", item.json(status, true));
  }

  /// The number of the last item.
  std::int64_t index() const { return std::ssize(items_) - 1; }

  void response_event(std::string& out, std::string_view name) {
    if (form_.stream) event(out, cat("response.", name), json_object({{"response", response()}}));
  }

  void item_event(std::string& out, std::string_view name, Json item) {
    event(out, cat("response.output_item.", name),
          json_object({{"output_index", index()}, {"item", std::move(item)}}));
  }

  void text_event(std::string& out, std::string_view name, JsonMember text, Json logprobs) {
    const bool is_reasoning = items_.back().is_reasoning;
    part_event(out, cat(is_reasoning ? "response.reasoning_text." : "response.output_text.", name),
               std::move(text), is_reasoning ? Json() : std::move(logprobs));
  }

  /// An event about the part of the last item.
  void part_event(std::string& out, const std::string& type, JsonMember member,
                  Json logprobs = {}) {
    Json j = json_object({{"item_id", items_.back().id},
                          {"output_index", index()},
                          {"content_index", 0},
                          std::move(member)});
    if (!logprobs.is_null()) j.set("logprobs", std::move(logprobs));
    event(out, type, j);
  }

  void event(std::string& out, const std::string& type, const Json& members) {
    if (!form_.stream) return;
    Json j = json_object({{"type", type}, {"sequence_number", sequence_++}});
    for (const auto& [name, value] : *members.as_object()) j.set(name, value);
    append_event(out, type, j);
  }

  Json usage() const {
    return json_object(
        {{"input_tokens", usage_.prompt_tokens},
         {"input_tokens_details", json_object({{"cached_tokens", usage_.cached_tokens}})},
         {"output_tokens", usage_.completion_tokens},
         {"output_tokens_details", json_object({{"reasoning_tokens", usage_.reasoning_tokens}})},
         {"total_tokens", usage_.prompt_tokens + usage_.completion_tokens}});
  }

  /// Why the reply is incomplete; null if it is complete.
  Json incomplete_details() const {
    return status_ == "incomplete" ? json_object({{"reason", "max_output_tokens"}}) : Json();
  }

  Json response() const {
    const bool has_ended = status_ == "completed" || status_ == "incomplete";
    Json j = json_object({{"id", cat("resp_", form_.id)},
                          {"object", "response"},
                          {"created_at", form_.created},
                          {"status", status_},
                          {"completed_at", status_ == "completed" ? Json(Service::now()) : Json()},
                          {"error", error_},
                          {"incomplete_details", incomplete_details()},
                          {"model", form_.model},
                          {"output", closed_}});
    for (const auto& [name, value] : *form_.repeated.as_object()) j.set(name, value);
    j.set("usage", has_ended ? usage() : Json());
    j.set("seed", form_.seed);
    if (!form_.warnings.is_null()) j.set("warnings", form_.warnings);
    return j;
  }

  const Service& service_;
  ResponseForm form_;
  ReplyText reply_;
  Usage usage_;
  std::string_view status_ = "in_progress";
  Json error_;
  std::vector<Item> items_;
  Json closed_ = Json::array();    ///< items that are complete
  Json logprobs_ = Json::array();  ///< for tokens with text that has not come yet
  std::int64_t sequence_ = 0;
  bool has_begun_ = false;
};

}  // namespace

std::unique_ptr<ResponseWriter> responses_writer(const Service& service, ResponseForm form,
                                                 const ReplyText& reply) {
  return std::make_unique<ResponsesWriter>(service, std::move(form), reply);
}

}  // namespace ingot
