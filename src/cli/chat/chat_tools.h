// Tools of `ingot chat`: reads their file, tells the model about them, and reads its calls.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/chat/chat_file.h"
#include "constraint/constraint.h"
#include "runtime/request.h"
#include "text/chat/chat_template.h"
#include "text/chat/tools/tool_dialect.h"

namespace ingot {

/// A tool, and the command that runs its calls: a program and its arguments.
struct ChatTool {
  Tool tool;
  std::vector<std::string> command;
};

/// Parses the file of --tools: [{"type": "function", "function": {"name", "description",
/// "parameters"}, "command": ["PROGRAM", "ARGUMENT", ...]}].
///
/// Errors: Error{kInvalid}: "<file>: tools[1].command: ...".
std::vector<ChatTool> parse_chat_tools(std::string_view text, const std::string& file);

/// Reads a file of tools. Errors: those of File and parse_chat_tools.
std::vector<ChatTool> load_chat_tools(const std::string& path);

/// Collects one reply as a message with calls, and the text to show for it.
class ToolReply {
 public:
  /// `first_call`: number of the reply's first call in the chat. It makes the ids of calls.
  ToolReply(std::unique_ptr<ReplyParser> parser, std::size_t first_call)
      : parser_(std::move(parser)), first_call_(first_call) {}

  /// Adds a piece of the reply. Returns what to show: content as it is, reasoning between <think>
  /// and </think>, and no part of calls.
  std::string add(std::string_view piece);
  /// Ends the reply. Returns the rest to show.
  std::string finish();
  /// Returns the message. It has the complete calls.
  ChatMessage take();

 private:
  std::string collect(const std::vector<ReplyEvent>& events);

  std::unique_ptr<ReplyParser> parser_;
  std::size_t first_call_;
  ChatMessage message_{.role = "assistant", .content = {}};
  std::vector<ChatCall> calls_;  ///< begun calls, in order
  std::size_t complete_ = 0;     ///< number of complete calls at the front of `calls_`
  bool shows_reasoning_ = false;
};

/// The tools of a chat, in the dialect of its model.
class ChatTools {
 public:
  /// Logs a warning for each part of a schema that calls need not obey. `ids`: number of tokens
  /// that the model can draw.
  ///
  /// Errors: Error{kInvalid} that names the file and the tool, for a schema that no text fits.
  ChatTools(std::vector<ChatTool> tools, std::shared_ptr<const ToolDialect> dialect,
            const Tokenizer& tokenizer, std::int64_t ids);

  const std::vector<ChatTool>& list() const { return tools_; }
  /// Returns the tool with this name; null if there is none.
  const ChatTool* find(std::string_view name) const;
  /// Tells the model about the tools. Logs a warning the first time that the template leaves
  /// something out of the messages.
  void add_to(ChatInput& input);
  /// Makes the calls in a reply to `prompt` fit the tools, and returns the reply's parser.
  std::unique_ptr<ReplyParser> begin_reply(std::string_view prompt, Request& request);

 private:
  std::shared_ptr<const Constraint> constrain(const ReplyBegin& begin);
  std::shared_ptr<const Constraint> compile(const ReplyBegin& begin) const;

  std::vector<ChatTool> tools_;
  std::vector<Tool> specs_;
  ToolChoice choice_;
  std::set<std::string_view> told_;  ///< reasons for parts of messages that are left out
  std::shared_ptr<const ToolDialect> dialect_;
  std::vector<std::int32_t> markers_;
  ConstraintCache constraints_;
};

}  // namespace ingot
