// Draws the progress bar.
#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "base/forced_exit.h"
#include "base/index.h"
#include "base/text.h"
#include "cli/log.h"
#include "cli/terminal/terminal_size.h"
#include "text/unicode/display_width.h"

namespace ingot {

namespace {

/// Cells of the bar, and the fewest that are worth their place.
constexpr std::int64_t kCellsMax = 40;
constexpr std::int64_t kCellsMin = 6;
/// The fewest columns of a label that tell something.
constexpr std::int64_t kLabelMin = 8;

/// Clears the line and what is below. A terminal that has become narrower breaks the line.
constexpr std::string_view kClear = "\r\x1b[J";

/// Whether the screen shows a bar. The cursor is then at the start of its line.
std::atomic<bool> is_drawn{false};

void draw(std::string_view text) {
  // Progress that cannot be shown is not worth an error.
  [[maybe_unused]] const ssize_t n = write(STDERR_FILENO, text.data(), text.size());
}

std::string shorten(std::string_view text, std::int64_t columns) {
  constexpr std::string_view kDots = "..";
  if (display_width(text) <= columns) return std::string(text);
  const auto dots = static_cast<std::int64_t>(kDots.size());
  if (columns < 2 * dots) return std::string(fit_columns(text, columns));
  std::string_view begin = fit_columns(text, columns - dots);
  while (begin.ends_with(' ')) begin.remove_suffix(1);
  return cat(begin, kDots);
}

}  // namespace

std::string progress_line(std::string_view label, int percent, std::string_view note,
                          std::size_t columns) {
  std::string end = cat(percent, " %");
  const std::int64_t all = static_cast<std::int64_t>(std::max<std::size_t>(columns, 1)) - 1;
  if (!note.empty()) {
    const std::string with_note = cat(end, " ", note);
    if (display_width(with_note) + kLabelMin + 1 <= all) end = with_note;
  }
  const std::int64_t rest = all - display_width(end);
  constexpr std::int64_t kFrame = 4;  // " [" and "] "
  if (rest < kLabelMin + kFrame + kCellsMin) {
    const std::string name = shorten(label, rest - 1);
    if (name.empty()) return std::string(fit_columns(end, all));
    return cat(name, " ", end);
  }
  const std::int64_t cells = std::clamp(rest - kFrame - display_width(label), kCellsMin, kCellsMax);
  const std::int64_t filled = percent * cells / 100;
  return cat(shorten(label, rest - kFrame - cells), " [", std::string(to_size(filled), '#'),
             std::string(to_size(cells - filled), ' '), "] ", end);
}

void hide_progress() {
  const int error = errno;
  if (is_drawn.exchange(false)) draw(kClear);
  errno = error;
}

ProgressBar::ProgressBar(std::string label)
    : label_(std::move(label)),
      enabled_(isatty(STDERR_FILENO) == 1 && !is_dumb_terminal() &&
               log_level() <= LogLevel::kInfo) {}

ProgressBar::~ProgressBar() { hide_progress(); }

void ProgressBar::show(std::uint64_t done, std::uint64_t total, const std::string& note) {
  if (!enabled_ || total == 0) return;
  const double share = static_cast<double>(done) / static_cast<double>(total);
  const int percent = static_cast<int>(std::min(share, 1.0) * 100);
  const std::size_t columns = screen_size(STDERR_FILENO).columns;
  const bool is_same = percent == percent_ && note == note_ && columns == columns_;
  if (is_same && is_drawn.load()) return;
  if (!mode_) {
    mode_.emplace(STDERR_FILENO, KeyMode::kSilent);
    add_forced_exit_action(hide_progress);
  }
  percent_ = percent;
  note_ = note;
  columns_ = columns;
  draw(cat(kClear, progress_line(label_, percent, note, columns), "\r"));
  is_drawn.store(true);
}

}  // namespace ingot
