// Rewrites messages with calls and results for a chat template.
#include "text/chat/tools/chat_tools.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "load/json_object.h"
#include "text/chat/tools/arguments_out.h"

namespace ingot {

namespace {

constexpr std::string_view kReasoningKeys[] = {"reasoning_content", "reasoning", "thinking"};

/// A call of an earlier message.
struct PastCall {
  std::string id;
  std::string name;
  Json arguments;  ///< an object, or a text that is no JSON object
};

Json object_or_text(const Json* arguments) {
  if (arguments == nullptr || arguments->is_null()) return Json::object();
  const std::string* text = arguments->as_string();
  if (text == nullptr) return *arguments;
  try {
    Json value = parse_json(*text, "arguments", "");
    if (value.as_object() != nullptr) return value;
  } catch (const Error&) {
    return *arguments;
  }
  return *arguments;
}

std::vector<PastCall> past_calls(const Json& message) {
  std::vector<PastCall> calls;
  const Json* list = message.find("tool_calls");
  if (list == nullptr || list->as_array() == nullptr) return calls;
  for (const Json& call : *list->as_array()) {
    PastCall past;
    if (const std::string* id = call.find_string("id")) past.id = *id;
    const Json* custom = call.find("custom");
    const Json* function = custom != nullptr ? custom : call.find("function");
    if (function == nullptr) function = &call;
    if (const std::string* name = function->find_string("name")) past.name = *name;
    if (custom != nullptr) {
      const std::string* input = custom->find_string("input");
      past.arguments = json_object({{kCustomInput, input == nullptr ? Json("") : Json(*input)}});
    } else {
      past.arguments = object_or_text(function->find("arguments"));
    }
    calls.push_back(std::move(past));
  }
  return calls;
}

/// Makes an id of nine letters and digits, as Mistral's templates demand. Equal ids stay equal.
std::string short_id(const std::string& id) {
  constexpr std::size_t kLetters = 9;
  const auto is_plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  if (id.size() == kLetters && std::all_of(id.begin(), id.end(), is_plain)) return id;
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  constexpr std::string_view kAlphabet = "0123456789abcdefghijklmnopqrstuvwxyz";
  std::string out;
  for (std::size_t i = 0; i < kLetters; ++i) {
    out += kAlphabet[hash % kAlphabet.size()];
    hash /= kAlphabet.size();
  }
  return out;
}

/// Arguments whose arrays and objects are JSON text: for templates that would print them otherwise.
Json with_nested_text(const Json& arguments) {
  if (arguments.as_object() == nullptr) return arguments;
  Json out = Json::object();
  for (const auto& [key, value] : *arguments.as_object()) {
    const bool is_nested = value.as_array() != nullptr || value.as_object() != nullptr ||
                           value.as_bool() != nullptr || value.is_null();
    out.set(key, is_nested ? Json(value.dump()) : value);
  }
  return out;
}

std::string text_of(const Json* content) {
  if (content == nullptr) return {};
  if (const std::string* text = content->as_string()) return *text;
  std::string out;
  if (content->as_array() == nullptr) return out;
  for (const Json& part : *content->as_array()) {
    if (const std::string* text = part.find_string("text")) out += *text;
  }
  return out;
}

constexpr std::string_view kNoPlaceForText =
    "the chat template writes no text beside calls of tools";
constexpr std::string_view kNoReasoning =
    "the chat template writes no reasoning of earlier replies";
constexpr std::string_view kTextInstead =
    "the chat template writes either the reasoning or the text beside calls of tools: the text";

class Rewriter {
 public:
  explicit Rewriter(const DialectFacts& facts) : facts_(facts) {}

  /// What the messages lose.
  const std::vector<LostParts>& lost() const { return lost_; }

  Json rewrite(const Json& messages) {
    for (const Json& message : in_order_of_calls(*messages.as_array())) {
      const std::string* role = message.find_string("role");
      if (role != nullptr && *role == "assistant") {
        add_reply(message);
      } else if (role != nullptr && (*role == "tool" || *role == "function")) {
        add_result(message);
      } else if (role != nullptr && *role == "user" && !results_.empty()) {
        out_.push(behind_results(message));
      } else {
        end_results();
        out_.push(message);
      }
      ++number_;
    }
    end_results();
    return std::move(out_);
  }

 private:
  static bool is_result(const Json& message) {
    const std::string* role = message.find_string("role");
    return role != nullptr && (*role == "tool" || *role == "function");
  }

  /// The place of each call in a reply, by its id.
  static std::map<std::string_view, std::size_t> places_of_calls(const Json& message) {
    std::map<std::string_view, std::size_t> places;
    const Json* list = message.find("tool_calls");
    if (list == nullptr || list->as_array() == nullptr) return places;
    for (const Json& call : *list->as_array()) {
      const std::string* id = call.find_string("id");
      places.emplace(id == nullptr ? std::string_view() : *id, places.size());
    }
    return places;
  }

  /// Sorts the results behind each reply by their calls: templates may write neither ids nor names.
  static Json::Array in_order_of_calls(const Json::Array& messages) {
    Json::Array sorted;
    for (auto at = messages.begin(); at != messages.end();) {
      const auto places = places_of_calls(*at);
      sorted.push_back(*at++);
      std::vector<std::pair<std::size_t, const Json*>> results;
      for (; at != messages.end() && is_result(*at); ++at) {
        const std::string* id = at->find_string("tool_call_id");
        const auto call = id == nullptr ? places.end() : places.find(*id);
        results.emplace_back(call == places.end() ? places.size() : call->second, &*at);
      }
      std::stable_sort(results.begin(), results.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      for (const auto& [place, result] : results) sorted.push_back(*result);
    }
    return sorted;
  }

  void lose(std::string_view member, std::string_view reason) {
    for (LostParts& lost : lost_) {
      if (lost.reason != reason) continue;
      ++lost.messages;
      return;
    }
    lost_.push_back({.first = number_, .messages = 1, .member = member, .reason = reason});
  }

  void add_reply(const Json& message) {
    end_results();
    std::vector<PastCall> calls = past_calls(message);
    const std::string* thought = nullptr;
    for (const std::string_view key : kReasoningKeys) {
      if (thought == nullptr) thought = message.find_string(key);
    }
    const bool is_text = facts_.calls == DialectFacts::Calls::kText;
    std::string said = calls.empty() ? std::string() : text_of(message.find("content"));
    bool has_thought = thought != nullptr && !facts_.reasoning_key.empty();
    const bool joins =
        is_text || said.empty() || (has_thought ? facts_.joins_thoughts : facts_.joins_text);
    if (!joins && facts_.has_text_before) {
      out_.push(json_object({{"role", "assistant"}, {"content", std::exchange(said, {})}}));
    } else if (!joins && facts_.joins_text) {
      has_thought = false;  // what the model said matters more
      lose("reasoning_content", kTextInstead);
    } else if (!joins) {
      said.clear();
      lose("content", kNoPlaceForText);
    }
    if (thought != nullptr && !thought->empty() && facts_.reasoning_key.empty()) {
      lose("reasoning_content", kNoReasoning);
    }
    Json reply = Json::object();
    for (const auto& [key, value] : *message.as_object()) {
      if (key == "tool_calls" || (key == "content" && !calls.empty())) continue;
      if (key == facts_.reasoning_key) continue;
      reply.set(key, value);
    }
    if (has_thought) reply.set(facts_.reasoning_key, *thought);
    if (!calls.empty()) {
      reply.set("content", is_text                   ? Json(with_calls(said, calls))
                           : facts_.has_null_content ? Json()
                                                     : Json(said));
      if (!is_text) reply.set("tool_calls", calls_json(calls));
    }
    for (const PastCall& call : calls) names_[call.id] = call.name;
    out_.push(std::move(reply));
  }

  std::string with_calls(const std::string& said, const std::vector<PastCall>& calls) const {
    std::vector<CallToWrite> written;
    written.reserve(calls.size());
    for (const PastCall& call : calls) written.push_back({call.name, call.arguments});
    const std::string text = write_calls(facts_.frames.front(), written);
    return said.empty() ? text : cat(said, "\n", text);
  }

  std::string id_for_template(const std::string& id) const {
    return facts_.has_short_ids ? short_id(id) : id;
  }

  Json calls_json(const std::vector<PastCall>& calls) const {
    Json list = Json::array();
    for (const PastCall& call : calls) {
      const bool is_string = facts_.calls == DialectFacts::Calls::kString;
      const bool is_object = call.arguments.as_object() != nullptr;
      Json arguments = call.arguments;
      if (is_string && is_object) {
        arguments = Json(call.arguments.dump());
      } else if (!is_string && !is_object) {
        // A text that is no JSON: an earlier reply was cut.
        arguments = json_object({{kCustomInput, call.arguments}});
      }
      if (facts_.has_nested_text) arguments = with_nested_text(arguments);
      list.push(json_object(
          {{"id", id_for_template(call.id)},
           {"type", "function"},
           {"function", json_object({{"name", call.name}, {"arguments", std::move(arguments)}})}}));
    }
    return list;
  }

  void add_result(const Json& message) {
    const std::string content = text_of(message.find("content"));
    if (!facts_.writes_results) {
      // All results behind a reply are one message, because roles must alternate in many templates.
      if (!results_.empty()) results_ += '\n';
      results_ += cat("<tool_response>\n", content, "\n</tool_response>");
      return;
    }
    const std::string* id = message.find_string("tool_call_id");
    Json result = Json::object();
    for (const auto& [key, value] : *message.as_object()) {
      const bool is_changed = key == "role" || key == "content" || key == "tool_call_id";
      if (!is_changed) result.set(key, value);
    }
    result.set("role", "tool");
    result.set("content", content);
    if (id != nullptr) result.set("tool_call_id", id_for_template(*id));
    if (result.find("name") == nullptr && id != nullptr) {
      const auto known = names_.find(*id);
      if (known != names_.end()) result.set("name", known->second);
    }
    out_.push(std::move(result));
  }

  void end_results() {
    if (results_.empty()) return;
    out_.push(json_object({{"role", "user"}, {"content", std::exchange(results_, {})}}));
  }

  /// A user's message behind results, with the results in front: roles must alternate.
  Json behind_results(const Json& message) {
    const Json* content = message.find("content");
    std::string text = std::exchange(results_, {});
    if (content == nullptr || content->as_array() == nullptr) {
      return with_member(message, "content", Json(cat(text, "\n", text_of(content))));
    }
    Json parts = Json::array();
    parts.push(json_object({{"type", "text"}, {"text", text += '\n'}}));
    for (const Json& part : *content->as_array()) parts.push(part);
    return with_member(message, "content", std::move(parts));
  }

  const DialectFacts& facts_;
  std::size_t number_ = 0;  ///< number of the message
  std::vector<LostParts> lost_{};
  Json out_ = Json::array();
  std::map<std::string, std::string> names_{};  // each id has the name in its last call
  std::string results_{};
};

/// Tells the model about tools, in a system message.
std::string tools_text(std::span<const Tool> tools, const CallFrames& frames) {
  std::string text =
      "# Tools\n\nThese functions are at your disposal. Each line between <tools> and </tools> "
      "describes one, as JSON:\n<tools>\n";
  for (const Tool& tool : tools) text += cat(tool_json(tool).dump(), "\n");
  text +=
      "</tools>\n\nTo call a function, answer with its name and arguments in exactly this form:\n";
  const Json example = json_object({{"argument", "value"}});
  text += write_calls(frames, {{.name = "function_name", .arguments = example}});
  return text;
}

/// Appends text to the first system message, or puts one in front.
Json with_system_text(const Json& messages, const std::string& text) {
  Json out = Json::array();
  bool is_done = false;
  const auto& all = *messages.as_array();
  const std::string* first = all.empty() ? nullptr : all.front().find_string("role");
  if (first == nullptr || (*first != "system" && *first != "developer")) {
    out.push(json_object({{"role", "system"}, {"content", text}}));
    is_done = true;
  }
  for (const Json& message : all) {
    if (std::exchange(is_done, true)) {
      out.push(message);
      continue;
    }
    Json system = Json::object();
    for (const auto& [key, value] : *message.as_object()) {
      if (key != "content") system.set(key, value);
    }
    const std::string said = text_of(message.find("content"));
    system.set("content", said.empty() ? text : cat(said, "\n\n", text));
    out.push(std::move(system));
  }
  return out;
}

/// A tool whose properties all have what some templates read without asking whether it is there.
Json described(const Json& tool) {
  const Json* function = tool.find("function");
  const Json* parameters = function->find("parameters");
  const Json* properties = parameters->find("properties");
  if (properties == nullptr || properties->as_object() == nullptr) return tool;
  Json filled = Json::object();
  for (const auto& [name, schema] : *properties->as_object()) {
    Json property = schema.as_object() == nullptr ? Json::object() : schema;
    if (property.find("description") == nullptr) property.set("description", "");
    const std::string* type = property.find_string("type");
    if (type != nullptr && *type == "array" && property.find("items") == nullptr) {
      property.set("items", Json::object());
    }
    if (type != nullptr && *type == "object" && property.find("additionalProperties") == nullptr) {
      property.set("additionalProperties", Json::object());
    }
    filled.set(name, std::move(property));
  }
  return with_member(tool, "function",
                     with_member(*function, "parameters",
                                 with_member(*parameters, "properties", std::move(filled))));
}

}  // namespace

Json tool_json(const Tool& tool) {
  Json parameters = tool.parameters;
  if (tool.kind == Tool::Kind::kCustom) {
    Json required = Json::array();
    required.push(kCustomInput);
    parameters = json_object(
        {{"type", "object"},
         {"properties", json_object({{kCustomInput, json_object({{"type", "string"},
                                                                 {"description", "the input"}})}})},
         {"required", std::move(required)}});
  } else if (parameters.as_object() == nullptr) {
    parameters = json_object({{"type", "object"}, {"properties", Json::object()}});
  }
  return json_object({{"type", "function"},
                      {"function", json_object({{"name", tool.name},
                                                {"description", tool.description},
                                                {"parameters", std::move(parameters)}})}});
}

std::vector<LostParts> add_chat_tools(ChatInput& input, std::span<const Tool> tools,
                                      const DialectFacts& facts) {
  std::vector<LostParts> lost;
  if (input.messages.as_array() != nullptr) {
    Rewriter rewriter(facts);
    input.messages = rewriter.rewrite(input.messages);
    lost = rewriter.lost();
  }
  if (tools.empty()) return lost;
  if (facts.writes_tools) {
    input.tools = Json::array();
    for (const Tool& tool : tools) {
      const Json json = tool_json(tool);
      input.tools.push(facts.needs_descriptions ? described(json) : json);
    }
  } else if (!facts.frames.empty() && input.messages.as_array() != nullptr) {
    input.messages = with_system_text(input.messages, tools_text(tools, facts.frames.front()));
  }
  return lost;
}

}  // namespace ingot
