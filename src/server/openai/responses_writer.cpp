// Writes responses of POST /v1/responses: items of reasoning, messages and calls.
#include "server/openai/responses_writer.h"

#include <initializer_list>
#include <utility>
#include <vector>

#include "base/text.h"
#include "load/json_object.h"
#include "server/common/response_json.h"
#include "server/common/thinking_signature.h"

namespace ingot {

namespace {

using Kind = ReplyEvent::Kind;

/// An output item. Reasoning and messages have one part.
struct Item {
  enum class Type { kReasoning, kMessage, kFunction, kCustom };

  Type type = Type::kMessage;
  std::string id{};
  std::string text{};     ///< text of the part, or input of the call
  std::string call_id{};  ///< a call's id
  std::string name{};     ///< name of the called tool
  Json logprobs = Json::array();
  std::string sealed{};  ///< `encrypted_content` of complete reasoning; empty: has none

  bool is_call() const { return type == Type::kFunction || type == Type::kCustom; }

  std::string_view type_name() const {
    switch (type) {
      case Type::kReasoning:
        return "reasoning";
      case Type::kMessage:
        return "message";
      case Type::kFunction:
        return "function_call";
      case Type::kCustom:
        return "custom_tool_call";
    }
    return "";
  }

  /// The member of a call that has its input.
  std::string_view input_name() const { return type == Type::kCustom ? "input" : "arguments"; }

  Json part() const {
    const bool is_reasoning = type == Type::kReasoning;
    Json j =
        json_object({{"type", is_reasoning ? "reasoning_text" : "output_text"}, {"text", text}});
    if (is_reasoning) return j;
    j.set("annotations", Json::array());
    j.set("logprobs", logprobs);
    return j;
  }

  /// The item has no part before its first event.
  Json json(std::string_view status, bool has_part) const {
    Json j = json_object({{"id", id}, {"type", type_name()}, {"status", status}});
    if (is_call()) {
      j.set("call_id", call_id);
      j.set("name", name);
      j.set(std::string(input_name()), text);
      return j;
    }
    Json parts = Json::array();
    if (has_part) parts.push(part());
    if (type == Type::kReasoning) {
      j.set("summary", Json::array());
      if (!sealed.empty()) j.set("encrypted_content", sealed);
    } else {
      j.set("role", "assistant");
    }
    j.set("content", std::move(parts));
    return j;
  }
};

class ResponsesWriter final : public ResponseWriter {
 public:
  ResponsesWriter(ResponseForm form, const ReplyFormat& format)
      : form_(std::move(form)), format_(format), reader_(format_, form_.logprob) {}

  void add_delta(std::size_t /*choice*/, const Delta& delta) override { reader_.add(delta); }

  bool wants_end(std::size_t /*choice*/) const override { return reader_.reply().has_stopped(); }

  void flush(std::size_t /*choice*/, std::string& out) override {
    begin(out);
    for (const ScoredEvent& event : reader_.take()) add_event(event.event, event.logprobs, out);
  }

  void end_choice(std::size_t choice, const Outcome& outcome, std::string& out) override {
    reader_.finish();
    flush(choice, out);
    if (items_.empty()) open_item(Item::Type::kMessage, out);
    usage_.add(outcome, true);
    usage_.reasoning_tokens = reader_.reply().reasoning_tokens();
    status_ = reader_.reply().finish_reason(outcome) == "length" ? "incomplete" : "completed";
    if (is_closed_) return;
    if (items_.back().type == Item::Type::kMessage) add_logprobs(reader_.take_rest());
    close_item(items_.back().is_call() ? "incomplete" : status_, out);
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

  void add_event(const ReplyEvent& event, const Json& logprobs, std::string& out) {
    switch (event.kind) {
      case Kind::kReasoning:
        add_text(Item::Type::kReasoning, event.text, logprobs, out);
        break;
      case Kind::kContent:
        add_text(Item::Type::kMessage, event.text, logprobs, out);
        break;
      case Kind::kCallBegin:
        begin_call(event.text, out);
        break;
      case Kind::kCallArguments:
        items_.back().text += event.text;
        input_event(out, "delta", {{"delta", event.text}});
        break;
      case Kind::kCallEnd:
        close_item("completed", out);
        break;
    }
  }

  void add_text(Item::Type type, const std::string& text, const Json& logprobs, std::string& out) {
    if (items_.empty() || is_closed_ || items_.back().type != type) open_item(type, out);
    items_.back().text += text;
    add_logprobs(logprobs);
    text_event(out, "delta", {"delta", text}, logprobs);
  }

  void add_logprobs(const Json& entries) {
    for (const Json& entry : *entries.as_array()) items_.back().logprobs.push(entry);
  }

  /// Makes an item's id. The first item of a kind has the request's id alone.
  std::string item_id(std::string_view prefix) const {
    std::string id = cat(prefix, form_.id);
    for (const Item& item : items_) {
      if (item.id == id) return cat(id, "_", items_.size());
    }
    return id;
  }

  void open_item(Item::Type type, std::string& out) {
    end_open_item(out);
    const std::string_view prefix = type == Item::Type::kReasoning ? "rs_" : "msg_";
    items_.push_back({.type = type, .id = item_id(prefix)});
    is_closed_ = false;
    item_event(out, "added", items_.back().json("in_progress", false));
    part_event(out, "response.content_part.added", {"part", items_.back().part()});
  }

  void begin_call(const std::string& name, std::string& out) {
    end_open_item(out);
    const Tool* tool = format_.find_tool(name);
    const bool is_custom = tool != nullptr && tool->kind == Tool::Kind::kCustom;
    items_.push_back({.type = is_custom ? Item::Type::kCustom : Item::Type::kFunction,
                      .id = new_call_id(is_custom ? "ctc_" : "fc_"),
                      .call_id = new_call_id(),
                      .name = name});
    is_closed_ = false;
    item_event(out, "added", items_.back().json("in_progress", false));
  }

  void end_open_item(std::string& out) {
    if (!items_.empty() && !is_closed_) close_item("completed", out);
  }

  void close_item(std::string_view status, std::string& out) {
    is_closed_ = true;
    Item& item = items_.back();
    if (item.type == Item::Type::kReasoning && form_.has_sealed_reasoning) {
      item.sealed = ThinkingSigner::of_process().seal(item.text);
    }
    closed_.push(item.json(status, true));
    if (item.is_call()) {
      input_event(out, "done", {{"name", item.name}, {item.input_name(), item.text}});
    } else {
      text_event(out, "done", {"text", item.text}, item.logprobs);
      part_event(out, "response.content_part.done", {"part", item.part()});
    }
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
    const bool is_reasoning = items_.back().type == Item::Type::kReasoning;
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

  /// An event about the input of the last item, which is a call.
  void input_event(std::string& out, std::string_view name,
                   std::initializer_list<JsonMember> members) {
    const Item& item = items_.back();
    Json j = json_object({{"item_id", item.id}, {"output_index", index()}});
    for (const JsonMember& m : members) j.set(std::string(m.name), m.value);
    event(out,
          cat(item.type == Item::Type::kCustom ? "response.custom_tool_call_input."
                                               : "response.function_call_arguments.",
              name),
          j);
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

  ResponseForm form_;
  ReplyFormat format_;
  ScoredReader reader_;
  Usage usage_;
  std::string_view status_ = "in_progress";
  Json error_;
  std::vector<Item> items_;
  bool is_closed_ = false;       ///< whether the last item is complete
  Json closed_ = Json::array();  ///< items that are complete
  std::int64_t sequence_ = 0;
  bool has_begun_ = false;
};

}  // namespace

std::unique_ptr<ResponseWriter> responses_writer(ResponseForm form, const ReplyFormat& reply) {
  return std::make_unique<ResponsesWriter>(std::move(form), reply);
}

}  // namespace ingot
