// Reads the tools of POST /v1/responses.
#include "server/openai/responses_tools.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "server/common/message_text.h"
#include "text/chat/chat_template.h"

namespace ingot {

namespace {

Tool read_tool(Params& params, const std::string& place, const std::string& type, Params& members,
               CompileBudget& grammars) {
  auto name = members.text("name", SIZE_MAX);
  if (!name) refuse_at(cat(place, ".name"), "is missing");
  Tool tool{.name = std::move(*name),
            .description = members.text("description", SIZE_MAX).value_or(""),
            .path = place};
  if (type == "custom") {
    tool.kind = Tool::Kind::kCustom;
    if (const Json* format = members.take("format")) {
      read_custom_format(params, cat(place, ".format"), *format, tool, grammars);
    }
    return tool;
  }
  tool.parameters = read_tool_parameters(cat(place, ".parameters"), members.take("parameters"));
  tool.is_strict = members.flag("strict").value_or(false);
  return tool;
}

/// Adds the tool at `place`, unless it is a web search.
void add_tool(Params& params, const std::string& place, const Json& entry, ToolList& list,
              CompileBudget& grammars) {
  if (entry.as_object() == nullptr) {
    refuse_at(place, cat("is ", entry.kind(), ", expected an object"));
  }
  const std::string& type = part_type(place, entry);
  if (type.starts_with("web_search")) {
    // Clients offer it in every request. A reply without a search is still a good reply.
    params.warn(place, "not_available", "the server cannot search the web: the model is not told");
    return;
  }
  if (type != "function" && type != "custom") {
    refuse_at(place, cat("is of type ", printable(type, 64),
                         ": the server runs no tools, possible are function, custom"));
  }
  Params members(entry, cat(place, "."));
  members.take("type");
  list.add(read_tool(params, place, type, members, grammars));
  members.finish();
  params.add_warnings(members);
}

}  // namespace

RequestTools read_response_tools(Params& params) {
  ToolList list;
  if (const Json* tools = params.array("tools")) {
    const Json::Array& all = *tools->as_array();
    if (all.size() > kToolsMax) {
      throw invalid_request(
          "tools", cat("tools has ", all.size(), " entries, possible are at most ", kToolsMax));
    }
    if (all.empty()) params.warn("tools", "ignored", "it is empty");
    CompileBudget grammars;
    for (std::size_t i = 0; i < all.size(); ++i) {
      add_tool(params, entry_place("tools", i), all[i], list, grammars);
    }
  }
  std::optional<ToolChoice> choice;
  if (const Json* value = params.take("tool_choice")) {
    choice = read_tool_choice("tool_choice", *value);
    check_choice(list, *choice, "tool_choice");
  }
  RequestTools out = make_tools(params, std::move(list), std::move(choice), "tool_choice");
  const auto parallel = params.flag("parallel_tool_calls");
  if (parallel) out.choice.parallel = out.choice.parallel && *parallel;
  if (parallel && out.empty()) params.warn("parallel_tool_calls", "ignored", "there are no calls");
  return out;
}

}  // namespace ingot
