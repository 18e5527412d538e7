// ToolDialect: how a model writes reasoning and calls of tools, recognised from its chat template.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "constraint/grammar.h"
#include "constraint/schema/json_schema.h"
#include "text/chat/chat_template.h"
#include "text/chat/tools/reply_parser.h"
#include "text/chat/tools/tool.h"

namespace ingot {

/// How a reply begins, which the rendered prompt decides.
struct ReplyBegin {
  bool in_reasoning = false;  ///< the prompt ends in the tag that opens reasoning
  bool can_reason = false;    ///< the reply may contain reasoning
};

/// Parts of earlier messages that a chat template cannot write.
struct LostParts {
  std::size_t first = 0;      ///< number of the first message that loses it
  std::size_t messages = 0;   ///< number of messages that lose it
  std::string_view member{};  ///< "content", "reasoning_content"
  std::string_view reason{};
};

/// The reply format of a chat template. Immutable.
class ToolDialect {
 public:
  virtual ~ToolDialect() = default;

  /// Name for /props and docs: "hermes", "qwen3-coder", "harmony", "generic", ...
  virtual std::string_view name() const = 0;
  /// False: the template does not know tools. Then the system message tells the model about them.
  virtual bool is_native() const = 0;
  /// Control tokens whose names the reply's text must keep ("<|channel|>", "[TOOL_CALLS]").
  virtual std::span<const std::string> markers() const = 0;
  /// The tag that opens reasoning: "<think>"; empty if there is none.
  virtual std::string_view reasoning_begin() const = 0;
  /// The tag that closes reasoning: "</think>"; empty if there is none.
  virtual std::string_view reasoning_end() const = 0;

  /// Puts tools into the input of the chat template: as its `tools`, or as text of the system
  /// message. Earlier calls and results in the messages take the form that the template reads.
  /// Results behind a reply come in the order of its calls. Returns what is lost in them, one entry
  /// for each reason.
  virtual std::vector<LostParts> add_tools(ChatInput& input, std::span<const Tool> tools,
                                           const ToolChoice& choice) const = 0;
  /// Looks at a rendered prompt.
  virtual ReplyBegin begin_of(std::string_view prompt) const = 0;
  /// Returns a parser for a reply. `tools` are copied as far as they are needed.
  virtual std::unique_ptr<ReplyParser> make_parser(const ReplyBegin& begin,
                                                   std::span<const Tool> tools) const = 0;
  /// Returns a parser for a reply of `add_content_reply`: behind its reasoning, everything is
  /// content.
  virtual std::unique_ptr<ReplyParser> make_content_parser(const ReplyBegin& begin) const = 0;
  /// Adds the texts of whole replies: reasoning, if any; then content and calls as `choice` allows.
  /// Arguments fit their tool's schema. With kAuto, everything up to the beginning of a call is
  /// free text. With kRequired, the reply has nothing but reasoning and calls.
  ///
  /// Errors: Error{kInvalid} that begins with Tool::path; those of CompileBudget.
  virtual NodeId add_reply(Grammar& grammar, const ReplyBegin& begin, std::span<const Tool> tools,
                           const ToolChoice& choice, std::vector<SchemaNote>& notes,
                           CompileBudget& budget) const = 0;
  /// Adds the texts of replies whose content is `content`: reasoning may come before it, and the
  /// dialect's frame of content (Harmony's final channel) around it.
  virtual NodeId add_content_reply(Grammar& grammar, const ReplyBegin& begin, NodeId content,
                                   CompileBudget& budget) const = 0;
};

/// Recognises the dialect: renders messages with calls and results, and parses them back. Never
/// fails: a template that no dialect fits gets the generic one.
std::shared_ptr<const ToolDialect> find_tool_dialect(const ChatTemplate& chat_template);

}  // namespace ingot
