// TerminalChat: the interactive chat of `ingot chat` on a terminal.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "cli/chat/chat_session.h"
#include "cli/chat/line_history.h"
#include "cli/chat/message_lines.h"
#include "cli/interrupt.h"
#include "cli/terminal/line_editor.h"

namespace ingot {

/// Options of a chat on a terminal.
struct TerminalChatOptions {
  std::string model;  ///< the model's name, as the user gave it
  bool history = true;
};

/// Reads messages and commands, shows replies, and asks what to do when the context is full. Shows
/// an error as one line, and continues the chat.
class TerminalChat {
 public:
  TerminalChat(ChatSession& session, LineEditor& editor, TerminalChatOptions options);

  /// Runs the chat until the user quits. Errors: Interrupted; Error{kIo} if the terminal is gone.
  void run();

 private:
  struct Command {
    std::string_view name;
    std::string_view argument;  ///< the command's argument as /help shows it
    std::string_view help;
    void (TerminalChat::*run)(std::string_view argument);
  };
  static std::span<const Command> commands();

  void load_history();
  void remember(const InputMessage& message);
  std::string prompt(bool has_begun) const;
  std::optional<InputMessage> read_message();
  void handle(const InputMessage& message);
  void run_command(std::string_view line);

  void attempt(FunctionRef<void()> change);
  bool make_room();
  char ask_how_to_make_room(std::int64_t tokens);
  void answer();
  bool is_interrupted();
  void draw_reply();
  bool run_calls();
  std::string result_of(const ChatCall& call);
  std::string run_call(const ChatCall& call);

  void help(std::string_view argument);
  void clear(std::string_view argument);
  void system(std::string_view argument);
  void save(std::string_view argument);
  void load(std::string_view argument);
  void regenerate(std::string_view argument);
  void set(std::string_view argument);
  void stats(std::string_view argument);
  void tools(std::string_view argument);
  void quit(std::string_view argument);

  ChatSession& session_;
  LineEditor& editor_;
  TerminalChatOptions options_;
  CtrlC ctrl_c_;
  std::optional<LineHistory> history_;
  bool left_ = false;
  bool is_stopped_ = false;  ///< Ctrl-C ended the turn
  bool has_run_ = false;     ///< a command has run in this turn
};

}  // namespace ingot
