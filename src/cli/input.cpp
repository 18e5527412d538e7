// Reads stdin and JSON files within size limits.
#include "cli/input.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/errno_text.h"
#include "base/error.h"
#include "base/file.h"
#include "base/index.h"
#include "base/text.h"
#include "cli/interrupt.h"

namespace ingot {

namespace {

constexpr std::size_t kInputBytesMax = std::size_t{1} << 28;
constexpr std::size_t kLinesMax = 65536;

}  // namespace

bool read_more_stdin(std::string& text) {
  char buffer[1 << 16];
  for (;;) {
    const ssize_t n = read(STDIN_FILENO, buffer, sizeof buffer);
    if (n == 0) return false;
    interruption_point();
    if (n > 0) {
      text.append(buffer, to_size(n));
      return true;
    }
    if (errno != EINTR) {
      throw Error(ErrorCode::kIo, cat("stdin: cannot read: ", errno_text(errno)));
    }
  }
}

std::string read_stdin() {
  std::string all;
  while (read_more_stdin(all)) {
    if (all.size() > kInputBytesMax) {
      throw Error(ErrorCode::kInvalid,
                  cat("stdin: more than ", kInputBytesMax, " bytes, run it in parts"));
    }
  }
  return all;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (lines.size() > kLinesMax) {
      throw Error(ErrorCode::kInvalid,
                  cat("stdin: more than ", kLinesMax, " lines, run them in parts"));
    }
  }
  return lines;
}

Json read_json_file(const std::string& path, const std::string& section, const JsonLimits& limits) {
  return parse_json(File(path).read_all(limits.bytes_max), path, section, limits);
}

}  // namespace ingot
