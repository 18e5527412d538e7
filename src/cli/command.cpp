// The command line: declares the commands, and turns every way to end into an exit code.
#include "cli/command.h"

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <new>

#include "base/error.h"
#include "base/text.h"
#include "cli/interrupt.h"
#include "cli/log.h"
#include "cli/options/options.h"
#include "cli/output.h"

namespace ingot {

namespace {

constexpr int kUsage = 64;
constexpr int kInternal = 70;
constexpr int kDoesNotFit = 71;

int exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNotFinite:
      return kCheckFailed;
    case ErrorCode::kModel:
      return 2;
    case ErrorCode::kInvalid:
      return kUsage;
    case ErrorCode::kUnavailable:
    case ErrorCode::kTimeout:
      return 69;
    case ErrorCode::kInternal:
      return kInternal;
    case ErrorCode::kDoesNotFit:
      return kDoesNotFit;
    case ErrorCode::kIo:
      return 74;
  }
  return kInternal;
}

/// The message when a command is missing or a word is not one; it lists the commands.
std::string missing_command(const CLI::App& app) {
  std::string names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    names += cat(names.empty() ? "" : ", ", sub->get_name());
  }
  const std::vector<std::string> words = app.remaining();
  const std::string found = words.empty() ? "" : printable(words.front()) + " is no command: ";
  return cat(found, "expected one of ", names, " (ingot --help tells more)");
}

/// Reports CLI11's outcome: help and version are results, anything else is a usage error.
int report_parse(const CLI::App& app, const CLI::ParseError& e) {
  if (e.get_exit_code() == 0) {
    const auto chosen = app.get_subcommands();
    if (e.get_name() == "CallForVersion") {
      write_stdout(cat(e.what(), "\n"));
    } else {
      write_stdout(chosen.empty() ? app.help() : chosen.front()->help(app.get_name()));
    }
    return 0;
  }
  if (e.get_name() == "RequiredError" && app.get_subcommands().empty()) {
    log_error(missing_command(app));
    return kUsage;
  }
  std::string text = printable(e.what(), 1024);
  const auto is_capital = [&](std::size_t i) {
    return i < text.size() && text[i] >= 'A' && text[i] <= 'Z';
  };
  // CLI11's sentences begin with a capital, ours do not. Names such as MODEL stay.
  if (is_capital(0) && !is_capital(1)) text[0] = static_cast<char>(text[0] - 'A' + 'a');
  log_error(cat(text, " (ingot --help tells more)"));
  return kUsage;
}

/// If stdin, stdout or stderr is closed, the next opened file would get its number, and output
/// could go into that file. Opens /dev/null in its place, in the wrong direction, so that reading
/// stdin and writing the others still fail.
void hold_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) != -1) continue;
    // `open` returns the lowest free number, which is `fd`: the lower ones are open.
    const int held = open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
    if (held < 0) return;
  }
}

/// The text at the end of every help.
std::string footer(std::string_view example) {
  constexpr std::string_view kCodes =
      "Results go to stdout, everything else to stderr. Exit codes: 0 done, 1 a check failed, 2 a "
      "model was refused, 64 usage, 69 address not available, 70 internal, 71 it does not fit, 74 "
      "read or write failed, 130 interrupted, 143 terminated.";
  return example.empty() ? std::string(kCodes) : cat(kCodes, "\nExample: ", example);
}

/// Sets the help's last text for a command and its subcommands.
void add_footers(const Command& command) {
  const std::string own = command.app->get_footer();
  command.app->footer(cat(own, own.empty() ? "" : "\n\n", footer(command.example)));
  for (const Command& below : command.below) add_footers(below);
}

/// Refuses words between a command and its subcommand: they belong to neither.
void expect_nothing_before(const CLI::App& command, const CLI::App& below) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0) continue;
    throw Error(ErrorCode::kInvalid, cat(option->get_name(), ": what ", command.get_name(), " ",
                                         below.get_name(), " takes has to follow these words"));
  }
}

int run_chosen(const Command& command) {
  for (const Command& below : command.below) {
    if (!below.app->parsed()) continue;
    expect_nothing_before(*command.app, *below.app);
    return run_chosen(below);
  }
  return command.run();
}

int parse_and_run(int argc, char** argv, std::initializer_list<Command (*)(CLI::App&)> more) {
  CLI::App app("ingot: an engine that serves large language models, with the same bits every time",
               "ingot");
  app.set_version_flag("--version", "ingot " INGOT_VERSION);
  app.require_subcommand(1);
  std::vector<Command> commands{
      add_run_command(app),        add_chat_command(app),       add_embed_command(app),
      add_rerank_command(app),     add_logits_command(app),     add_serve_command(app),
      add_perplexity_command(app), add_inspect_command(app),    add_tokenize_command(app),
      add_template_command(app),   add_quantize_command(app),   add_imatrix_command(app),
      add_synth_command(app),      add_pull_command(app),       add_models_command(app),
      add_rm_command(app),         add_completion_command(app), add_man_command(app),
      add_lora_command(app)};
  for (const auto add : more) commands.push_back(add(app));
  app.footer(footer("ingot run model.gguf -p \"Once upon a time\""));
  for (const Command& command : commands) add_footers(command);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return report_parse(app, e);
  }
  for (const Command& command : commands) {
    if (command.app->parsed()) return run_chosen(command);
  }
  return kDone;
}

}  // namespace

int run_command_line(int argc, char** argv, std::initializer_list<Command (*)(CLI::App&)> more) {
  hold_standard_streams();
  install_interrupt_handlers();
  try {
    return parse_and_run(argc, argv, more);
  } catch (const Error& e) {
    log_error(with_flags(stderr_message(e)));
    return exit_code(e.code());
  } catch (const Interrupted& e) {
    return e.exit_code();
  } catch (const std::bad_alloc&) {
    log_error("out of memory");
    return kDoesNotFit;
  } catch (const std::exception& e) {
    log_error(cat("internal: ", printable(e.what(), 1024)));
    return kInternal;
  }
}

}  // namespace ingot
