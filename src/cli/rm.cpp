// ingot rm: removes a downloaded model.
#include <unistd.h>

#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/log.h"
#include "cli/options/hub_environment.h"
#include "cli/options/options.h"
#include "cli/output.h"
#include "hub/remove_model.h"

namespace ingot {

namespace {

struct RmValues {
  std::string name;
  bool yes = false;
};

/// Asks the user a question; whether the answer begins with y.
bool confirm(const std::string& question) {
  if (isatty(STDIN_FILENO) != 1) {
    throw Error(ErrorCode::kInvalid,
                cat(question, ": give --yes, since stdin is no terminal to ask on"));
  }
  const std::string prompt = question + "? [y/N] ";
  [[maybe_unused]] const ssize_t shown = write(STDERR_FILENO, prompt.data(), prompt.size());
  std::string line;
  for (char c = 0; c != '\n' && line.size() < 64;) {
    const ssize_t got = read(STDIN_FILENO, &c, 1);
    interruption_point();
    if (got <= 0) break;
    line += c;
  }
  return line.starts_with('y') || line.starts_with('Y');
}

int remove(const RmValues& values) {
  const auto name = parse_model_name(values.name);
  if (!name) throw bad_option("NAME", values.name, "ingot models lists the names");
  const std::string cache = hub_cache_folder();
  const Removal removal = plan_removal(cache, *name);
  const std::string what = cat("remove ", removal.paths.size(), " files of ", removal.repo.repo(),
                               " (", removal.bytes, " bytes) from ", printable(cache, 4096));
  if (!values.yes && !confirm(what)) return kDone;
  remove_model(removal, [](std::string_view text) { log_warning(text); });
  return kDone;
}

}  // namespace

Command add_rm_command(CLI::App& app) {
  auto values = std::make_shared<RmValues>();
  CLI::App& sub = add_command(
      app, "rm", "Remove a model from the Hugging Face hub's cache, and what only it used");
  add_text(sub, values->name,
           {.name = "NAME", .help = "A name that ingot models lists", .is_required = true});
  add_switch(sub, values->yes, "--yes,-y", "Do not ask");
  return {&sub, [values] { return remove(*values); }, "ingot rm Qwen/Qwen3-0.6B-GGUF"};
}

}  // namespace ingot
