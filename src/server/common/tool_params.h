// Tools of a request: reads which functions the model may call, and which calls it must make.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "load/json.h"
#include "server/common/custom_tool_format.h"
#include "server/common/params.h"
#include "text/chat/tools/tool.h"

namespace ingot {

/// Maximum number of characters in a tool's name.
inline constexpr std::size_t kToolNameMax = 128;

/// The tools of a request, and which of them a reply may call.
struct RequestTools {
  /// The tools that the model is told about. Empty if the request has no tools or forbids calls.
  std::vector<Tool> tools{};
  ToolChoice choice{.use = ToolChoice::Use::kNone};
  /// True: the request has `functions` instead of `tools`, so the reply has a `function_call`.
  bool is_legacy = false;

  bool empty() const { return tools.empty(); }
};

/// Collects the tools of a request, and checks them.
class ToolList {
 public:
  /// Adds a tool; `Tool::path` is its place in the request. Errors: ApiError that names the place
  /// of a tool with a bad or repeated name, or of a tool too many (kToolsMax).
  void add(Tool tool);
  bool has(std::string_view name) const;
  std::vector<Tool> take() { return std::move(tools_); }

 private:
  std::vector<Tool> tools_;
};

/// Reads the parameters of a function: the JSON schema of an object. Absent, null and empty objects
/// give null: any object. Errors: ApiError that names `place`.
Json read_tool_parameters(const std::string& place, const Json* schema);
/// Reads a choice at `place`: "none", "auto", "required", or an object that names a function, a
/// custom tool or several tools ("allowed_tools"). Names may be in the object itself or in its
/// member "function", "custom" or "allowed_tools". Errors: ApiError that names the member.
ToolChoice read_tool_choice(const std::string& place, const Json& choice);
/// Checks that each name of `choice.allowed` is a tool. Errors: ApiError that names `place`.
void check_choice(const ToolList& tools, const ToolChoice& choice, const std::string& place);
/// Joins tools with the choice from the member `name`, if it was sent. Warns if members have no
/// effect without tools. Errors: ApiError if the choice demands a call, but there are no tools.
RequestTools make_tools(Params& params, ToolList list, std::optional<ToolChoice> choice,
                        std::string_view name);

/// Reads the tools of a chat: `tools`, `tool_choice`, `parallel_tool_calls`, and the older
/// `functions` and `function_call`. Errors: ApiError that names the member.
RequestTools read_chat_tools(Params& params);

}  // namespace ingot
