// Reading stdin in pieces, with a bound on a line.
#include "cli/stdin_lines.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "cli/input.h"

namespace ingot {

std::optional<std::string_view> StdinLines::next() {
  std::size_t searched = at_;
  for (;;) {
    const std::size_t end = held_.find('\n', searched);
    if (end != std::string::npos || (ended_ && at_ < held_.size())) {
      const std::string_view line = std::string_view(held_).substr(at_, end - at_);
      at_ = std::min(end, held_.size() - 1) + 1;
      return line;
    }
    if (ended_) return std::nullopt;
    held_.erase(0, at_);
    at_ = 0;
    searched = held_.size();
    if (searched > bytes_max_) {
      throw Error(ErrorCode::kInvalid, cat("stdin: a line has more than ", bytes_max_, " bytes"));
    }
    ended_ = !read_more_stdin(held_);
  }
}

}  // namespace ingot
