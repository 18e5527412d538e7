// Finds by trial renderings how a chat template writes calls, and what form it wants them in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/chat/chat_template.h"
#include "text/chat/tools/call_frames.h"
#include "text/chat/tools/call_syntax.h"

namespace ingot {

/// What trials found about a template.
struct DialectFacts {
  /// How calls in earlier messages are given to the template.
  enum class Calls {
    kObject,  ///< as `tool_calls`, with arguments as an object
    kString,  ///< as `tool_calls`, with arguments as JSON text
    kText,    ///< as text of the content
  };

  const ReplySyntax* syntax = nullptr;
  ReasoningSyntax reasoning{};
  /// The first is that of the template; others are allowed too.
  std::vector<CallFrames> frames{};
  bool writes_tools = false;    ///< the template writes `tools`
  bool writes_results = false;  ///< the template writes messages of the role "tool"
  Calls calls = Calls::kText;
  bool has_null_content = false;    ///< messages with calls must have no content
  bool has_short_ids = false;       ///< ids are nine letters and digits
  bool has_nested_text = false;     ///< arrays and objects among arguments are given as JSON text
  bool joins_text = true;           ///< content beside calls is written
  bool joins_thoughts = true;       ///< content beside calls and reasoning is written
  bool has_text_before = false;     ///< content is written as a message before that of the calls
  bool needs_descriptions = false;  ///< each property of a tool must have a description
  std::string reasoning_key{};      ///< the member that the template writes as reasoning
};

/// Finds the facts. Never fails: what is not found is generic.
DialectFacts find_dialect_facts(const ChatTemplate& chat_template, std::string_view source);

}  // namespace ingot
