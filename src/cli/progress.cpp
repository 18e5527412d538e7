// Drawing the progress bar.
#include "cli/progress.h"

#include <unistd.h>

#include <string_view>

#include "base/text.h"
#include "cli/log.h"

namespace ingot {

namespace {

constexpr int kWidth = 40;

void draw(std::string_view text) {
  // Progress that cannot be shown is not worth an error.
  [[maybe_unused]] const ssize_t n = write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

ProgressBar::ProgressBar(std::string label)
    : label_(std::move(label)),
      enabled_(isatty(STDERR_FILENO) == 1 && log_level() <= LogLevel::kInfo) {}

ProgressBar::~ProgressBar() {
  if (percent_ >= 0) draw("\r\x1b[K");
}

void ProgressBar::show(std::uint64_t done, std::uint64_t total) {
  if (!enabled_ || total == 0) return;
  const int percent =
      static_cast<int>(static_cast<double>(done) * 100 / static_cast<double>(total));
  if (percent == percent_) return;
  percent_ = percent;
  const auto filled = static_cast<std::size_t>(percent * kWidth / 100);
  draw(cat("\r", label_, " [", std::string(filled, '#'), std::string(kWidth - filled, ' '), "] ",
           percent, " %"));
}

}  // namespace ingot
