// Reads the tools of POST /v1/messages.
#include "server/anthropic/messages_tools.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "server/common/message_text.h"
#include "text/chat/chat_template.h"

namespace ingot {

namespace {

/// A tool that Anthropic defines and a client runs.
/// Source: Anthropic's documentation of the bash tool and of the text editor tool.
struct KnownTool {
  std::string_view type;  ///< without the date behind it
  std::string_view name;
  std::string_view description;
  std::string_view schema;
};

constexpr std::string_view kBashSchema = R"({
  "type": "object",
  "properties": {
    "command": {"type": "string", "description": "The command to run"},
    "restart": {"type": "boolean", "description": "true: begin a new session"}}})";

constexpr std::string_view kEditorSchema = R"({
  "type": "object",
  "properties": {
    "command": {"enum": ["view", "create", "str_replace", "insert"]},
    "path": {"type": "string", "description": "Path to the file or folder"},
    "file_text": {"type": "string", "description": "For create: the content of the file"},
    "old_str": {"type": "string", "description": "For str_replace: the text to replace"},
    "new_str": {"type": "string", "description": "For str_replace: the new text"},
    "insert_line": {"type": "integer", "description": "For insert: the line before the new text"},
    "insert_text": {"type": "string", "description": "For insert: the new text"},
    "view_range": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2,
                   "description": "For view: the first and the last line"}},
  "required": ["command", "path"]})";

/// The editors before 2025-04-29 could undo, and had the text to insert in new_str.
constexpr std::string_view kOldEditorSchema = R"({
  "type": "object",
  "properties": {
    "command": {"enum": ["view", "create", "str_replace", "insert", "undo_edit"]},
    "path": {"type": "string", "description": "Path to the file or folder"},
    "file_text": {"type": "string", "description": "For create: the content of the file"},
    "old_str": {"type": "string", "description": "For str_replace: the text to replace"},
    "new_str": {"type": "string", "description": "For str_replace and insert: the new text"},
    "insert_line": {"type": "integer", "description": "For insert: the line before the new text"},
    "view_range": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2,
                   "description": "For view: the first and the last line"}},
  "required": ["command", "path"]})";

constexpr std::string_view kBashHelp = "Runs commands in a bash session that lasts";
constexpr std::string_view kEditorHelp = "Views, creates and edits files";

constexpr std::array<KnownTool, 6> kKnownTools{{
    {"bash_20241022", "bash", kBashHelp, kBashSchema},
    {"bash_20250124", "bash", kBashHelp, kBashSchema},
    {"text_editor_20241022", "str_replace_editor", kEditorHelp, kOldEditorSchema},
    {"text_editor_20250124", "str_replace_editor", kEditorHelp, kOldEditorSchema},
    {"text_editor_20250429", "str_replace_based_edit_tool", kEditorHelp, kEditorSchema},
    {"text_editor_20250728", "str_replace_based_edit_tool", kEditorHelp, kEditorSchema},
}};

Tool known_tool(const std::string& place, const std::string& type, Params& members) {
  for (const KnownTool& known : kKnownTools) {
    if (known.type != type) continue;
    members.ignore("max_characters", "the client cuts the result");
    return {.name = members.text("name", SIZE_MAX).value_or(std::string(known.name)),
            .description = std::string(known.description),
            .parameters = parse_json(known.schema, "tools", type),
            .path = place};
  }
  refuse_at(cat(place, ".type"),
            cat("is ", printable(type, 64),
                ": the server runs no tools and knows no schema of this one, possible are custom, "
                "bash_20250124, text_editor_20250728 and their earlier versions"));
}

Tool own_tool(const std::string& place, Params& members) {
  auto name = members.text("name", SIZE_MAX);
  if (!name) refuse_at(cat(place, ".name"), "is missing");
  const Json* schema = members.take("input_schema");
  if (schema == nullptr) refuse_at(cat(place, ".input_schema"), "is missing");
  return {.name = std::move(*name),
          .description = members.text("description", SIZE_MAX).value_or(""),
          .parameters = read_tool_parameters(cat(place, ".input_schema"), schema),
          .is_strict = members.flag("strict").value_or(false),
          .path = place};
}

Tool read_tool(Params& params, const std::string& place, const Json& entry) {
  if (entry.as_object() == nullptr) {
    refuse_at(place, cat("is ", entry.kind(), ", expected an object"));
  }
  Params members(entry, cat(place, "."));
  const std::string type = members.text("type", SIZE_MAX).value_or("custom");
  Tool tool = type == "custom" ? own_tool(place, members) : known_tool(place, type, members);
  // Hints: equal beginnings of prompts are cached anyway, and arguments are always streamed.
  members.object("cache_control");
  members.flag("eager_input_streaming");
  members.finish();
  params.add_warnings(members);
  return tool;
}

ToolList read_list(Params& params) {
  ToolList list;
  const Json* tools = params.array("tools");
  if (tools == nullptr) return list;
  const Json::Array& all = *tools->as_array();
  if (all.size() > kToolsMax) {
    throw invalid_request(
        "tools", cat("tools has ", all.size(), " entries, possible are at most ", kToolsMax));
  }
  if (all.empty()) params.warn("tools", "ignored", "it is empty");
  for (std::size_t i = 0; i < all.size(); ++i) {
    list.add(read_tool(params, entry_place("tools", i), all[i]));
  }
  return list;
}

/// Reads {"type", "name", "disable_parallel_tool_use"}.
std::optional<ToolChoice> read_choice(Params& params) {
  using Use = ToolChoice::Use;
  std::optional<ToolChoice> out;
  params.within("tool_choice", [&](Params& choice) {
    const auto type = choice.one_of("type", {"auto", "any", "tool", "none"});
    if (!type) throw invalid_request("tool_choice.type", "tool_choice.type is missing");
    const auto is_single = choice.flag("disable_parallel_tool_use");
    if (*type == "none") {
      out = ToolChoice{.use = Use::kNone};
    } else if (*type == "auto") {
      out = ToolChoice{.use = Use::kAuto, .parallel = !is_single.value_or(false)};
    } else if (*type == "any") {
      out = ToolChoice{.use = Use::kRequired, .parallel = !is_single.value_or(false)};
    } else {
      auto name = choice.text("name", SIZE_MAX);
      if (!name) throw invalid_request("tool_choice.name", "tool_choice.name is missing");
      out = ToolChoice{.use = Use::kRequired,
                       .allowed = {std::move(*name)},
                       .parallel = !is_single.value_or(true)};
    }
  });
  return out;
}

}  // namespace

RequestTools read_message_tools(Params& params) {
  ToolList list = read_list(params);
  auto choice = read_choice(params);
  if (choice) check_choice(list, *choice, "tool_choice.name");
  const Json* tools = params.array("tools");
  const bool is_empty = tools == nullptr || tools->as_array()->empty();
  // Clients send "auto" and "none" with every request, so there is no warning without tools.
  if (is_empty && choice && choice->use != ToolChoice::Use::kRequired) return {};
  return make_tools(params, std::move(list), std::move(choice), "tool_choice");
}

}  // namespace ingot
