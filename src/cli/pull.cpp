// ingot pull: download a model.
#include "hub/pull.h"

#include <algorithm>
#include <chrono>
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
#include "hub/transfer_rate.h"

namespace ingot {

namespace {

class Watch final : public PullWatch {
 public:
  explicit Watch(const std::string& name) : bar_("pulling " + printable(name)) {}

  void progress(const PullProgress& progress) override {
    interruption_point();
    if (progress.total > 0) measure(progress);
    bar_.show(progress.done, progress.total, rate_text_);
  }
  void note(std::string_view text) override { log_warning(text); }
  void choice(std::string_view text) override { log_info(text); }

 private:
  /// Changes the text once a second, so that it can be read.
  void measure(const PullProgress& progress) {
    const double now =
        std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    rate_.add(now, progress.received);
    if (now < next_text_) return;
    rate_text_ = rate_.text(progress.total - std::min(progress.done, progress.total));
    if (!rate_text_.empty()) next_text_ = now + 1;
  }

  ProgressBar bar_;
  TransferRate rate_;
  std::string rate_text_;
  double next_text_ = 0;  ///< time of the next change of `rate_text_`, in seconds
};

std::string pull_with_progress(const ModelName& name) {
  Watch watch(to_string(name));  // its end clears the bar, so that the result has its own line
  return pull_model(name, hub_options(), watch);
}

void pull(const std::string& text) {
  const auto name = hub_model_name(text);
  if (!name) {
    throw bad_option("NAME", text,
                     "expected user/name, user/name@revision, user/name:file or an address as "
                     "https://hf.co/user/name");
  }
  write_stdout(pull_with_progress(*name) + "\n");
}

}  // namespace

Command add_pull_command(CLI::App& app) {
  auto name = std::make_shared<std::string>();
  CLI::App& sub =
      add_command(app, "pull", "Download a model from the Hugging Face hub and print where it is");
  add_text(sub, *name,
           {.name = "NAME",
            .help = "user/name, with @revision for a branch, tag or commit other than main, and "
                    "with :file for one GGUF model of several: its quantisation (:Q4_K_M) or path. "
                    "The address of the model's page or file does as well",
            .is_required = true});
  set_footer(sub,
             cat("An interrupted download is continued. The cache is shared with the hub's own "
                 "tools.\n",
                 hub_environment_text()));
  return make_command(
      sub, [name] { pull(*name); }, "ingot pull Qwen/Qwen3-0.6B-GGUF:Q8_0");
}

}  // namespace ingot
