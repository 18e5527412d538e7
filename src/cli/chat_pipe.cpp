// ingot chat in a pipe: a line in, a reply out.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/errno_text.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/chat.h"
#include "cli/interrupt.h"
#include "cli/output.h"

namespace ingot {

namespace {

constexpr std::size_t kLineBytesMax = std::size_t{1} << 24;

/// Lines of stdin as they come: a reply need not wait for the next one.
class StdinLines {
 public:
  /// The next line without its end; nothing at the end of the input.
  std::optional<std::string> next() {
    std::size_t searched = 0;
    for (;;) {
      const std::size_t end = buffer_.find('\n', searched);
      if (end != std::string::npos) return take(end, end + 1);
      searched = buffer_.size();
      if (searched > kLineBytesMax) {
        throw Error(ErrorCode::kInvalid,
                    cat("stdin: line ", number_ + 1, " has more than ", kLineBytesMax, " bytes"));
      }
      if (!fill()) break;
    }
    if (buffer_.empty()) return std::nullopt;
    return take(buffer_.size(), buffer_.size());
  }
  /// Of the last line.
  std::size_t number() const { return number_; }

 private:
  std::string take(std::size_t end, std::size_t next) {
    ++number_;
    std::string line = buffer_.substr(0, end);
    buffer_.erase(0, next);
    return line;
  }

  bool fill() {
    char bytes[1 << 16];
    for (;;) {
      const ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
      interruption_point();
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) throw Error(ErrorCode::kIo, cat("stdin: cannot read: ", errno_text(errno)));
      buffer_.append(bytes, static_cast<std::size_t>(n));
      return n > 0;
    }
  }

  std::string buffer_;
  std::size_t number_ = 0;
};

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

void chat_in_pipe(ChatSession& session) {
  StdinLines lines;
  while (const auto line = lines.next()) {
    if (is_blank(*line)) continue;
    session.add_user(*line);
    const std::int64_t tokens = session.prepare();
    if (!session.fits()) {
      throw Error(ErrorCode::kInvalid,
                  cat("line ", lines.number(), ": the conversation takes ", tokens, " of ",
                      session.context(), " tokens, the context is full: --ctx makes it larger"));
    }
    session.reply([] { return false; }, [](std::string_view text) { write_model_text(text); });
    write_stdout("\n");
  }
}

}  // namespace ingot
