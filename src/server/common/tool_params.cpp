// Reads the tools of a request, and which of the tools a reply may call.
#include "server/common/tool_params.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "server/common/message_text.h"
#include "text/chat/chat_template.h"

namespace ingot {

namespace {

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

void check_name(const Tool& tool) {
  const std::string place = cat(tool.path, ".name");
  if (tool.name.empty() || tool.name.size() > kToolNameMax) {
    refuse_at(place, cat("has ", tool.name.size(), " bytes, possible are 1 to ", kToolNameMax));
  }
  if (!std::all_of(tool.name.begin(), tool.name.end(), is_name_character)) {
    refuse_at(place, "can only have letters, digits, '_', '-' and '.'");
  }
}

/// Returns the object at `place`. Errors: ApiError for another type.
const Json& object_at(const std::string& place, const Json& value) {
  if (value.as_object() == nullptr) {
    refuse_at(place, cat("is ", value.kind(), ", expected an object"));
  }
  return value;
}

/// Returns the member `member` if it is an object; otherwise the object itself.
const Json& body_of(const Json& object, std::string_view member) {
  const Json* inner = object.find(member);
  return inner != nullptr && inner->as_object() != nullptr ? *inner : object;
}

}  // namespace

void ToolList::add(Tool tool) {
  if (tools_.size() == kToolsMax) {
    throw invalid_request("tools", cat("tools has more than ", kToolsMax, " entries"));
  }
  check_name(tool);
  for (const Tool& other : tools_) {
    if (other.name != tool.name) continue;
    refuse_at(cat(tool.path, ".name"), cat("is ", tool.name, ", as ", other.path, ".name is"));
  }
  tools_.push_back(std::move(tool));
}

bool ToolList::has(std::string_view name) const {
  return std::any_of(tools_.begin(), tools_.end(),
                     [&](const Tool& tool) { return tool.name == name; });
}

Json read_tool_parameters(const std::string& place, const Json* schema) {
  if (schema == nullptr || schema->is_null()) return {};
  if (object_at(place, *schema).as_object()->empty()) return {};
  return *schema;
}

namespace {

using ChoiceUse = ToolChoice::Use;

std::optional<ChoiceUse> use_of(const std::string& text) {
  if (text == "none") return ChoiceUse::kNone;
  if (text == "auto") return ChoiceUse::kAuto;
  if (text == "required" || text == "any") return ChoiceUse::kRequired;
  return std::nullopt;
}

/// Reads the name in {"type": "function", "function": {"name"}} or {"type": "function", "name"}.
std::string named_tool(const std::string& place, const Json& choice) {
  const std::string& type = part_type(place, object_at(place, choice));
  if (type != "function" && type != "custom") {
    refuse_at(cat(place, ".type"),
              cat("is ", printable(type, 64), ", possible are function, custom"));
  }
  const Json& body = body_of(choice, type);
  return part_string(&body == &choice ? place : cat(place, ".", type), body, "name");
}

ToolChoice read_allowed(const std::string& place, const Json& choice) {
  const Json& body = body_of(choice, "allowed_tools");
  const std::string at = &body == &choice ? place : cat(place, ".allowed_tools");
  const auto use = use_of(part_string(at, body, "mode"));
  if (!use || *use == ChoiceUse::kNone) refuse_at(cat(at, ".mode"), "can only be auto or required");
  ToolChoice out{.use = *use};
  const Json* tools = body.find("tools");
  const bool is_list = tools != nullptr && tools->as_array() != nullptr;
  if (!is_list || tools->as_array()->empty()) refuse_at(cat(at, ".tools"), "has no tools");
  for (const Json& tool : *tools->as_array()) {
    out.allowed.push_back(named_tool(entry_place(cat(at, ".tools"), out.allowed.size()), tool));
  }
  return out;
}

}  // namespace

ToolChoice read_tool_choice(const std::string& place, const Json& choice) {
  if (const std::string* text = choice.as_string()) {
    if (const auto use = use_of(*text)) return {.use = *use};
    refuse_at(place,
              cat("is ", printable(*text, 64), ", possible are none, auto, required and objects"));
  }
  if (choice.as_object() == nullptr) {
    refuse_at(place, cat("is ", choice.kind(), ", expected a string or an object"));
  }
  const std::string& type = part_type(place, choice);
  if (type == "allowed_tools") return read_allowed(place, choice);
  return {.use = ChoiceUse::kRequired, .allowed = {named_tool(place, choice)}, .parallel = false};
}

void check_choice(const ToolList& tools, const ToolChoice& choice, const std::string& place) {
  for (const std::string& name : choice.allowed) {
    if (!tools.has(name))
      refuse_at(place, cat("names ", printable(name, 64), ", which is no tool"));
  }
}

RequestTools make_tools(Params& params, ToolList list, std::optional<ToolChoice> choice,
                        std::string_view name) {
  RequestTools out{.tools = list.take()};
  if (out.tools.empty()) {
    if (!choice) return out;
    if (choice->use == ChoiceUse::kRequired || !choice->allowed.empty()) {
      throw invalid_request(std::string(name), cat(name, ": there are no tools to choose from"));
    }
    params.warn(name, "ignored", "there are no tools");
    return out;
  }
  out.choice = choice.value_or(ToolChoice{});
  if (out.choice.use == ChoiceUse::kNone) out.tools.clear();
  return out;
}

namespace {

/// Reads a tool of a chat: {"type": "function", "function": {...}} or {"type": "custom", ...}.
class ChatToolReader {
 public:
  ChatToolReader(Params& params, std::size_t bytes_max) : params_(params), bytes_max_(bytes_max) {}

  Tool read(const std::string& place, const Json& entry) {
    const std::string& type = part_type(place, object_at(place, entry));
    if (type != "function" && type != "custom") {
      refuse_at(cat(place, ".type"),
                cat("is ", printable(type, 64), ", possible are function, custom"));
    }
    const Json* body = entry.find(type);
    if (body == nullptr || body->as_object() == nullptr) {
      refuse_at(place, cat("has no object as its ", type));
    }
    Params members(entry, cat(place, "."));
    members.take("type");
    members.take(type);
    members.take("cache_control");  // equal beginnings of prompts are cached without it
    members.finish();
    params_.add_warnings(members);
    return type == "function" ? function(cat(place, ".function"), *body)
                              : custom(cat(place, ".custom"), *body);
  }

  Tool function(const std::string& place, const Json& body) {
    Params members(object_at(place, body), cat(place, "."));
    Tool tool = named(place, members);
    tool.parameters = read_tool_parameters(cat(place, ".parameters"), members.take("parameters"));
    tool.is_strict = members.flag("strict").value_or(false);
    finish(members);
    return tool;
  }

 private:
  Tool custom(const std::string& place, const Json& body) {
    Params members(body, cat(place, "."));
    Tool tool = named(place, members);
    tool.kind = Tool::Kind::kCustom;
    if (const Json* format = members.take("format")) {
      read_custom_format(params_, cat(place, ".format"), *format, tool, grammars_);
    }
    finish(members);
    return tool;
  }

  Tool named(const std::string& place, Params& members) const {
    auto name = members.text("name", bytes_max_);
    if (!name) refuse_at(cat(place, ".name"), "is missing");
    return {.name = std::move(*name),
            .description = members.text("description", bytes_max_).value_or(""),
            .path = place};
  }

  void finish(Params& members) {
    members.finish();
    params_.add_warnings(members);
  }

  Params& params_;
  std::size_t bytes_max_;
  CompileBudget grammars_;
};

/// Reads the list `tools` or `functions`. Warns if it is empty.
ToolList read_list(Params& params, std::string_view name) {
  ToolList list;
  const Json* tools = params.array(name);
  if (tools == nullptr) return list;
  const Json::Array& all = *tools->as_array();
  if (all.size() > kToolsMax) {
    throw invalid_request(std::string(name), cat(name, " has ", all.size(),
                                                 " entries, possible are at most ", kToolsMax));
  }
  if (all.empty()) params.warn(name, "ignored", "it is empty");
  ChatToolReader reader(params, SIZE_MAX);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string place = entry_place(name, i);
    list.add(name == "tools" ? reader.read(place, all[i]) : reader.function(place, all[i]));
  }
  return list;
}

/// Reads `function_call`: "none", "auto" or {"name": ...}.
std::optional<ToolChoice> read_function_call(Params& params) {
  const Json* value = params.take("function_call");
  if (value == nullptr) return std::nullopt;
  if (value->as_object() == nullptr) {
    ToolChoice choice = read_tool_choice("function_call", *value);
    return choice;
  }
  return ToolChoice{.use = ChoiceUse::kRequired,
                    .allowed = {part_string("function_call", *value, "name")}};
}

RequestTools read_functions(Params& params) {
  ToolList list = read_list(params, "functions");
  const auto choice = read_function_call(params);
  if (choice) check_choice(list, *choice, "function_call");
  RequestTools out = make_tools(params, std::move(list), choice, "function_call");
  // The reply has room for one call.
  out.choice.parallel = false;
  if (params.flag("parallel_tool_calls").value_or(false)) {
    params.warn("parallel_tool_calls", "ignored", "a reply has one function_call");
  }
  out.is_legacy = true;
  return out;
}

}  // namespace

RequestTools read_chat_tools(Params& params) {
  const bool is_legacy = params.has("functions") || params.has("function_call");
  if (is_legacy && (params.has("tools") || params.has("tool_choice"))) {
    throw invalid_request("functions", "functions and tools exclude each other: use tools");
  }
  if (is_legacy) return read_functions(params);
  ToolList list = read_list(params, "tools");
  std::optional<ToolChoice> choice;
  if (const Json* value = params.take("tool_choice")) {
    choice = read_tool_choice("tool_choice", *value);
    check_choice(list, *choice, "tool_choice");
  }
  RequestTools out = make_tools(params, std::move(list), std::move(choice), "tool_choice");
  const auto parallel = params.flag("parallel_tool_calls");
  if (parallel && out.empty()) {
    params.warn("parallel_tool_calls", "ignored", "there are no calls");
  } else if (parallel) {
    out.choice.parallel = out.choice.parallel && *parallel;
  }
  return out;
}

}  // namespace ingot
