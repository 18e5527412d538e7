// Writes to stdout without buffering, so that streamed text appears at once.
#include "cli/output.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "base/errno_text.h"
#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/terminal/terminal_size.h"

namespace ingot {

namespace {

/// Escapes control characters except newline and tab.
std::string harmless(std::string_view text) {
  std::string safe;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\n\t"), text.size());
    safe += printable(text.substr(0, end), std::string::npos);
    if (end < text.size()) safe += text[end];
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return safe;
}

}  // namespace

void write_stdout(std::string_view text) {
  hide_progress();
  while (!text.empty()) {
    const ssize_t n = write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0 && errno != EINTR) {
      throw Error(ErrorCode::kIo, cat("stdout: cannot write: ", errno_text(errno)));
    }
    text.remove_prefix(to_size(std::max<ssize_t>(n, 0)));
    // A reader that has stopped must not keep an interrupted command alive.
    if (!text.empty()) interruption_point();
  }
}

void write_model_text(std::string_view text) {
  static const bool terminal = isatty(STDOUT_FILENO) == 1;
  write_stdout(terminal ? harmless(text) : std::string(text));
}

ModelTextStream::ModelTextStream() : is_terminal_(isatty(STDOUT_FILENO) == 1) {
  if (is_terminal_) mode_.emplace(STDOUT_FILENO, KeyMode::kSilent);
  times_continued_ = TerminalMode::times_continued();
}

void ModelTextStream::write(std::string_view text) {
  if (text.empty()) return;
  is_at_line_start_ = text.ends_with('\n');
  if (!is_terminal_) return write_stdout(text);
  if (is_dumb_terminal()) return write_stdout(harmless(text));
  const int times_continued = TerminalMode::times_continued();
  if (std::exchange(times_continued_, times_continued) != times_continued) wrap_.lose_place();
  write_stdout(wrap_.add(harmless(text), screen_size(STDOUT_FILENO).columns));
}

}  // namespace ingot
