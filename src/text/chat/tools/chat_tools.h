// Puts tools, calls and results into the input of a chat template, in the form that it reads.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/chat/chat_template.h"
#include "text/chat/tools/dialect_trial.h"
#include "text/chat/tools/tool.h"
#include "text/chat/tools/tool_dialect.h"

namespace ingot {

/// Returns a tool as a function in OpenAI's form. A custom tool becomes a function with one text.
Json tool_json(const Tool& tool);
/// See ToolDialect::add_tools.
std::vector<LostParts> add_chat_tools(ChatInput& input, std::span<const Tool> tools,
                                      const DialectFacts& facts);

}  // namespace ingot
