// Draws the progress bar.
#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/index.h"
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

ProgressBar::~ProgressBar() { hide(); }

void ProgressBar::hide() {
  if (percent_ >= 0) draw("\r\x1b[K");
  percent_ = -1;
}

void ProgressBar::show(std::uint64_t done, std::uint64_t total, const std::string& note) {
  if (!enabled_ || total == 0) return;
  const int percent =
      static_cast<int>(static_cast<double>(done) * 100 / static_cast<double>(total));
  if (percent == percent_ && note == note_) return;
  percent_ = percent;
  note_ = note;
  const auto filled = to_size(percent * kWidth / 100);
  std::string line = cat(label_, " [", std::string(filled, '#'), std::string(kWidth - filled, ' '),
                         "] ", percent, " %");
  if (!note.empty()) line += " " + note;
  const std::size_t width = std::exchange(width_, line.size());
  line.resize(std::max(width, line.size()), ' ');  // overwrites the last text
  draw("\r" + line);
}

}  // namespace ingot
