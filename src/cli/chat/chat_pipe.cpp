// ingot chat in a pipe: reads a line, writes a reply.
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "cli/chat/chat.h"
#include "cli/output.h"
#include "cli/stdin_lines.h"

namespace ingot {

namespace {

constexpr std::size_t kLineBytesMax = std::size_t{1} << 24;

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

void chat_in_pipe(ChatSession& session) {
  StdinLines lines(kLineBytesMax);
  std::size_t number = 0;
  while (const auto line = lines.next()) {
    ++number;
    if (is_blank(*line)) continue;
    session.add_user(std::string(*line));
    const std::int64_t tokens = session.prepare();
    if (!session.fits()) {
      throw Error(ErrorCode::kInvalid,
                  cat("line ", number, ": the conversation takes ", tokens, " of ",
                      session.context(), " tokens, the context is full: --ctx makes it larger"));
    }
    session.reply([] { return false; }, [](std::string_view text) { write_model_text(text); });
    write_stdout("\n");
  }
}

}  // namespace ingot
