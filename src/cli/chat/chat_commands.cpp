// Commands of a chat on a terminal: /help, /set, /save and others.
#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "cli/chat/chat_terminal.h"
#include "cli/output.h"
#include "cli/reply.h"
#include "cli/terminal/terminal_mode.h"
#include "load/json.h"
#include "runtime/request_fields.h"

namespace ingot {

namespace {

constexpr std::string_view kInputHelp =
    "A line is a message. It continues in the next line after a backslash at its end, and text of\n"
    "several lines stands between \"\"\" and \"\"\", also where it begins with a slash.\n"
    "A paste of several lines is one message. Ctrl-R finds earlier messages.\n"
    "Ctrl-C stops a reply; at an empty line, twice, it leaves, as Ctrl-D does.\n";

/// The first word of a text, and what follows it.
std::pair<std::string_view, std::string_view> split_word(std::string_view text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  std::string_view rest = text.substr(end);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return {text.substr(0, end), rest};
}

void expect_argument(std::string_view argument, std::string_view usage) {
  if (argument.empty()) throw Error(ErrorCode::kInvalid, cat("expected ", usage));
}

/// What speculation gained, as a line of /stats; empty without drafts.
std::string draft_stats(const Outcome& o) {
  if (o.drafts == 0) return "";
  const double steps = static_cast<double>(o.decode_steps - o.accepted_drafts);
  const double tokens = static_cast<double>(o.decode_steps) / std::max(1.0, steps);
  return cat("drafts ", o.drafts, ", ", o.accepted_drafts, " accepted: ", to_fixed(tokens, 2),
             " tokens a step\n");
}

}  // namespace

std::span<const TerminalChat::Command> TerminalChat::commands() {
  static constexpr std::array<Command, 10> kCommands{{
      {"/help", "", "Show this", &TerminalChat::help},
      {"/clear", "", "Begin a new chat; the system message stays", &TerminalChat::clear},
      {"/system", "[TEXT|off]", "Show, set or take away the system message", &TerminalChat::system},
      {"/save", "FILE", "Save the chat as JSON", &TerminalChat::save},
      {"/load", "FILE", "Continue a saved chat", &TerminalChat::load},
      {"/regen", "", "Reply to the last message anew", &TerminalChat::regenerate},
      {"/set", "[NAME VALUE]", "Show or change how replies are drawn", &TerminalChat::set},
      {"/stats", "", "Show what the last reply took", &TerminalChat::stats},
      {"/tools", "", "Show the tools and their commands", &TerminalChat::tools},
      {"/quit", "", "Leave", &TerminalChat::quit},
  }};
  return kCommands;
}

void TerminalChat::run_command(std::string_view line) {
  const auto [name, argument] = split_word(line);
  const auto known = commands();
  const auto command = std::find_if(known.begin(), known.end(),
                                    [&, n = name](const Command& c) { return c.name == n; });
  if (command == known.end()) {
    throw Error(ErrorCode::kInvalid, cat(printable(name),
                                         " is no command: /help shows them, and "
                                         "\"\"\" makes a message of it"));
  }
  if (command->argument.empty() && !argument.empty()) {
    throw Error(ErrorCode::kInvalid, cat(name, " takes nothing after it"));
  }
  (this->*command->run)(argument);
}

void TerminalChat::help(std::string_view) {
  std::string text;
  for (const Command& c : commands()) {
    const std::string usage = cat(c.name, c.argument.empty() ? "" : " ", c.argument);
    text += cat(usage, std::string(22 - usage.size(), ' '), c.help, "\n");
  }
  write_stdout(cat(text, kInputHelp));
}

void TerminalChat::clear(std::string_view) {
  session_.clear();
  write_stdout("A new chat.\n");
}

void TerminalChat::system(std::string_view argument) {
  if (argument.empty()) {
    const auto text = session_.system();
    write_model_text(text ? *text : "There is no system message.");
    return write_stdout("\n");
  }
  session_.set_system(argument == "off" ? std::nullopt : std::optional<std::string>(argument));
}

void TerminalChat::save(std::string_view argument) {
  expect_argument(argument, "/save FILE");
  save_chat(std::string(argument), session_.messages(), options_.model);
  write_stdout(cat("Saved ", session_.messages().size(), " messages.\n"));
}

void TerminalChat::load(std::string_view argument) {
  expect_argument(argument, "/load FILE");
  {
    const SignalKeys keys;  // a pipe may be silent
    session_.load(load_chat(std::string(argument)));
  }
  write_stdout(cat("Loaded ", session_.messages().size(), " messages.\n"));
}

void TerminalChat::regenerate(std::string_view) {
  attempt([&] {
    if (!session_.drop_reply()) throw Error(ErrorCode::kInvalid, "there is no reply yet");
  });
}

void TerminalChat::set(std::string_view argument) {
  if (argument.empty()) {
    for (const RequestField& field : request_fields()) {
      if ((field.places & place::kSet) == 0) continue;
      write_stdout(cat(field.name, " ", field_text(field, session_.request()), "\n"));
    }
    return;
  }
  const auto [name, value] = split_word(argument);
  const RequestField* field = find_field(name, place::kSet);
  if (field == nullptr) {
    throw Error(ErrorCode::kInvalid, cat(printable(name), " is no setting: /set shows them"));
  }
  expect_argument(value, cat("/set ", name, " VALUE"));
  set_field(session_.request(), *field, parse_json(value, "/set", std::string(name)), place::kSet);
}

void TerminalChat::stats(std::string_view) {
  const Outcome& o = session_.outcome();
  const std::int64_t computed = o.prompt_tokens - o.cached_tokens;
  write_stdout(cat(
      "context ", session_.used(), "/", session_.context(), " tokens, ", session_.messages().size(),
      " messages\nlast prompt ", o.prompt_tokens, " tokens, ", o.cached_tokens, " from the cache, ",
      to_fixed(per_second(computed, o.prefill_seconds), 1), " tokens/s\nlast reply ",
      o.generated_tokens, " tokens, ", to_fixed(per_second(o.decode_steps, o.decode_seconds), 1),
      " tokens/s\n", draft_stats(o), "seed ", session_.request().sampling.seed, "\n"));
}

void TerminalChat::tools(std::string_view) {
  if (session_.tools() == nullptr) return write_stdout("There are no tools: see --tools.\n");
  for (const ChatTool& tool : session_.tools()->list()) {
    std::string words;
    for (const std::string& word : tool.command) words += cat(" ", printable(word));
    write_stdout(cat(tool.tool.name, ":", words, "\n"));
    if (tool.tool.description.empty()) continue;
    write_model_text(cat("    ", tool.tool.description));
    write_stdout("\n");
  }
}

void TerminalChat::quit(std::string_view) { left_ = true; }

}  // namespace ingot
