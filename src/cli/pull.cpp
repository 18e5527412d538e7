// ingot pull: download a model.
#include "hub/pull.h"

#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/log.h"
#include "cli/options/hub_environment.h"
#include "cli/options/options.h"
#include "cli/output.h"
#include "cli/progress.h"

namespace ingot {

namespace {

class Watch final : public PullWatch {
 public:
  explicit Watch(const std::string& name) : bar_("pulling " + printable(name)) {}

  void progress(std::uint64_t done, std::uint64_t total) override {
    interruption_point();
    bar_.show(done, total);
  }
  void note(std::string_view text) override { log_warning(text); }

 private:
  ProgressBar bar_;
};

void pull(const std::string& text) {
  const auto name = parse_model_name(text);
  if (!name)
    throw bad_option("NAME", text, "expected user/name, user/name@revision or user/name:file");
  Watch watch(text);
  write_stdout(pull_model(*name, hub_options(), watch) + "\n");
}

}  // namespace

Command add_pull_command(CLI::App& app) {
  auto name = std::make_shared<std::string>();
  CLI::App& sub =
      add_command(app, "pull", "Download a model from the Hugging Face hub and print where it is");
  add_text(sub, *name,
           {.name = "NAME",
            .help = "user/name, with @revision for a branch, tag or commit other than main, and "
                    "with :file for one GGUF model of several: its quantisation (:Q4_K_M) or path",
            .is_required = true});
  set_footer(sub,
             cat("An interrupted download is continued. The cache is shared with the hub's own "
                 "tools.\n",
                 hub_environment_text()));
  return make_command(
      sub, [name] { pull(*name); }, "ingot pull Qwen/Qwen3-0.6B-GGUF:Q8_0");
}

}  // namespace ingot
