// Reads stdin in blocks, splits it into lines, and limits the length of a line.
#include "cli/stdin_lines.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "cli/output.h"

namespace ingot {

std::optional<std::string_view> StdinLines::next() {
  std::size_t searched = at_;
  for (;;) {
    const std::size_t end = held_.find('\n', searched);
    if (end != std::string::npos || (ended_ && at_ < held_.size())) {
      std::string_view line = std::string_view(held_).substr(at_, end - at_);
      at_ = std::min(end, held_.size() - 1) + 1;
      if (number_++ == 0) line = without_byte_order_mark(line);
      if (line.ends_with('\r')) line.remove_suffix(1);
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

bool answer_lines(const JsonLimits& limits,
                  FunctionRef<Json(const Json& line, std::size_t)> answer) {
  StdinLines lines(limits.bytes_max);
  bool all_good = true;
  while (const auto line = lines.next()) {
    interruption_point();
    if (is_blank(*line)) continue;
    Json reply = Json::object();
    try {
      reply =
          answer(parse_json(*line, "stdin", cat("line ", lines.number()), limits), line->size());
    } catch (const Error& error) {
      reply.set("error", error.message());
      all_good = false;
    }
    write_stdout(reply.dump() + "\n");
  }
  return all_good;
}

}  // namespace ingot
