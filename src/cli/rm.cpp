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
#include "hub/gguf_models.h"
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

/// Describes the removal: "remove 2 files of user/name (123 bytes)", with the models if there are
/// several.
std::string removal_text(const Removal& removal) {
  const std::vector<GgufModel> models = find_gguf_models(removal.paths);
  const std::string all =
      models.size() > 1 ? cat("all ", models.size(), " models (", list_labels(models), "), ") : "";
  return cat("remove ", all, removal.paths.size(), " files of ", removal.repo.repo(), " (",
             removal.bytes, " bytes)");
}

int remove(const RmValues& values) {
  const auto name = hub_model_name(values.name);
  if (!name) throw bad_option("NAME", values.name, "ingot models lists the names");
  const std::string cache = hub_cache_folder();
  const Removal removal = plan_removal(cache, *name);
  const std::string what = cat(removal_text(removal), " from ", printable(cache, 4096));
  if (!values.yes && !confirm(what)) return kDone;
  remove_model(removal, [](std::string_view text) { log_warning(text); });
  return kDone;
}

}  // namespace

Command add_rm_command(CLI::App& app) {
  auto values = std::make_shared<RmValues>();
  CLI::App& sub = add_command(
      app, "rm", "Remove a model from the Hugging Face hub's cache, and what only it used");
  add_text(
      sub, values->name,
      {.name = "NAME",
       .help = "A name that ingot models lists. A name without :FILE removes all models of the "
               "repository that are here",
       .is_required = true});
  add_switch(sub, values->yes, "--yes,-y", "Do not ask");
  return {&sub, [values] { return remove(*values); }, "ingot rm Qwen/Qwen3-0.6B-GGUF"};
}

}  // namespace ingot
