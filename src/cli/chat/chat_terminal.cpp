// The loop of a chat on a terminal: joins lines into messages, and shows replies.
#include "cli/chat/chat_terminal.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "cli/chat/tool_command.h"
#include "cli/log.h"
#include "cli/output.h"

namespace ingot {

namespace {

/// Replies of one turn whose calls are run. A model that calls without end stops here.
constexpr int kRoundsMax = 16;

}  // namespace

TerminalChat::TerminalChat(ChatSession& session, LineEditor& editor, TerminalChatOptions options)
    : session_(session), editor_(editor), options_(std::move(options)) {
  if (options_.history) load_history();
}

/// A history that cannot be read does not stop the chat.
void TerminalChat::load_history() {
  const auto path = chat_history_path();
  if (!path) return;
  try {
    history_.emplace(*path);
    for (std::string& message : history_->load()) editor_.remember(std::move(message));
  } catch (const Error& error) {
    history_.reset();
    log_warning(cat("no history: ", error.plain_message()));
  }
}

void TerminalChat::remember(const InputMessage& message) {
  if (message.text.empty()) return;
  const std::string line = line_of(message);
  editor_.remember(line);
  if (!history_) return;
  try {
    history_->add(line);
  } catch (const Error& error) {
    history_.reset();
    log_warning(cat("no history: ", error.plain_message()));
  }
}

void TerminalChat::run() {
  write_stdout(cat(printable(options_.model, 4096), ", a context of ", session_.context(),
                   " tokens. /help tells what can be done.\n"));
  while (!left_) {
    const auto message = read_message();
    if (!message) return;
    try {
      handle(*message);
    } catch (const Error& error) {
      session_.require_alive();
      log_error(error.plain_message());
    }
  }
}

std::string TerminalChat::prompt(bool has_begun) const {
  if (has_begun) return "... ";
  return cat("[", session_.used(), "/", session_.context(), "] > ");
}

/// Nothing if the user quits.
std::optional<InputMessage> TerminalChat::read_message() {
  MessageLines lines;
  for (bool leaves = false;;) {
    const TypedLine line = editor_.read(prompt(lines.has_begun()));
    if (line.end == LineEnd::kClosed) return std::nullopt;
    if (line.end == LineEnd::kInterrupt) {
      const bool empty = line.was_empty && !lines.has_begun();
      if (empty && leaves) return std::nullopt;
      if (empty) write_stdout("Ctrl-C again or Ctrl-D leaves.\n");
      leaves = empty;
      lines.clear();
      continue;
    }
    leaves = false;
    auto message = lines.add({line.text, line.typed_front, line.typed_back});
    if (!message) continue;
    remember(*message);
    return message;
  }
}

void TerminalChat::handle(const InputMessage& message) {
  if (message.text.empty()) return;
  if (message.is_plain && message.text.front() == '/') return run_command(message.text);
  attempt([&] { session_.add_user(message.text); });
}

/// Calls `change` and draws a reply. If that gives no reply, the old messages are restored, unless
/// a command has run: the model must know what it did.
void TerminalChat::attempt(FunctionRef<void()> change) {
  const std::vector<ChatMessage> before = session_.messages();
  has_run_ = false;
  try {
    change();
    if (make_room()) return answer();
  } catch (const Error&) {
    if (!has_run_) session_.set_messages(before);
    throw;
  }
  session_.set_messages(before);
}

/// Prepares the prompt. False if it does not fit and the user chooses to leave it so.
bool TerminalChat::make_room() {
  const std::int64_t tokens = session_.prepare();
  if (session_.fits()) return true;
  switch (ask_how_to_make_room(tokens)) {
    case 'n':
      session_.start_over();
      break;
    case 'd': {
      const std::int64_t dropped = session_.drop_oldest();
      write_stdout(cat("Dropped the oldest ", dropped, dropped == 1 ? " turn.\n" : " turns.\n"));
      break;
    }
    default:
      return false;
  }
  const std::int64_t rest = session_.prepare();
  if (session_.fits()) return true;
  throw Error(ErrorCode::kInvalid, cat("the message alone takes ", rest, " of ", session_.context(),
                                       " tokens: --ctx makes the context larger"));
}

char TerminalChat::ask_how_to_make_room(std::int64_t tokens) {
  write_stdout(cat("The context is full: the conversation takes ", tokens, " of ",
                   session_.context(), " tokens.\n"));
  for (;;) {
    const TypedLine line =
        editor_.ask("[n]ew chat with this message, [d]rop the oldest turns, [c]ancel? ");
    if (line.end != LineEnd::kEnter) return 'c';
    if (line.text == "n" || line.text == "d" || line.text == "c") return line.text.front();
  }
}

/// Draws replies, and runs their calls, until a reply has none.
void TerminalChat::answer() {
  is_stopped_ = false;
  for (int round = 0; round < kRoundsMax; ++round) {
    draw_reply();
    if (session_.messages().back().calls.empty()) return;
    if (!run_calls() || !make_room()) return;
  }
  write_stdout(cat("(stopped: ", kRoundsMax, " replies with calls; /regen continues)\n"));
}

/// Runs the calls of the last reply. Each gets a result, because templates demand that. Returns
/// whether the turn continues.
bool TerminalChat::run_calls() {
  const std::vector<ChatCall> calls = session_.messages().back().calls;
  try {
    session_.expect_room(calls.size());
  } catch (const Error&) {
    session_.drop_reply();  // no call of it has run
    throw;
  }
  for (const ChatCall& call : calls) session_.add_result(call, result_of(call));
  if (is_stopped_) write_stdout("(stopped; /regen continues)\n");
  return !is_stopped_;
}

/// Runs a call, and keeps the turn if that fails.
std::string TerminalChat::result_of(const ChatCall& call) {
  try {
    return run_call(call);
  } catch (const Error& error) {
    log_error(error.plain_message());
    is_stopped_ = true;
    return cat("[failed: ", error.message(), "]");
  }
}

/// Runs a call if the user agrees. Returns what the model is told about it.
std::string TerminalChat::run_call(const ChatCall& call) {
  const ChatTool* tool = session_.tools()->find(call.name);
  if (is_stopped_) return "[stopped by the user]";
  if (tool == nullptr) return "[there is no tool of this name]";
  write_stdout(cat("The model calls ", printable(call.name), " with\n"));
  write_model_text(call.arguments);
  write_stdout("\n");
  for (bool is_answered = false; !is_answered;) {
    const TypedLine line = editor_.ask("Run it? [y]es, [n]o: ");
    is_stopped_ = line.end != LineEnd::kEnter;
    if (is_stopped_) return "[stopped by the user]";
    if (line.text == "n") return "[the user does not allow this call]";
    is_answered = line.text == "y";
  }
  ctrl_c_.take();
  const auto stop = [&] {
    interruption_point();
    return is_interrupted();
  };
  has_run_ = true;
  const CommandResult result = run_tool_command(tool->command, call.arguments, {}, stop);
  is_stopped_ = result.end == CommandResult::End::kStopped;
  std::string text = tool_result_text(result);
  write_model_text(text);
  if (!text.ends_with('\n')) write_stdout("\n");
  return text;
}

/// Whether Ctrl-C was pressed, or SIGINT came. Takes the keys that were typed.
bool TerminalChat::is_interrupted() {
  const bool was_pressed = editor_.take_interrupt();
  return ctrl_c_.take() || was_pressed;
}

void TerminalChat::draw_reply() {
  ctrl_c_.take();
  ModelTextStream reply;
  const auto show = [&](std::string_view text) { reply.write(text); };
  const Outcome& outcome = session_.reply([&] { return is_interrupted(); }, show);
  if (!reply.is_at_line_start()) write_stdout("\n");
  if (outcome.finish == FinishReason::kCancelled) write_stdout("(stopped)\n");
  if (session_.was_cut()) write_stdout("(cut: the context is full)\n");
}

}  // namespace ingot
