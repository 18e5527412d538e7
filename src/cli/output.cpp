// Writes to stdout without buffering, so that streamed text appears at once.
#include "cli/output.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "base/errno_text.h"
#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "cli/interrupt.h"

namespace ingot {

void write_stdout(std::string_view text) {
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
  if (!terminal) return write_stdout(text);
  std::string safe;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\n\t"), text.size());
    safe += printable(text.substr(0, end), std::string::npos);
    if (end < text.size()) safe += text[end];
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  write_stdout(safe);
}

}  // namespace ingot
