// ingot chat in a pipe: reads a line, writes a reply.
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "cli/chat/chat.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/log.h"
#include "cli/output.h"
#include "cli/stdin_lines.h"

namespace ingot {

namespace {

constexpr std::size_t kLineBytesMax = std::size_t{1} << 24;

}  // namespace

void prepare_reply(ChatSession& session, const std::string& place) {
  const std::int64_t tokens = session.prepare();
  if (session.fits()) return;
  throw Error(ErrorCode::kInvalid,
              cat(place, "the conversation takes ", tokens, " of ", session.context(),
                  " tokens, the context is full: --ctx makes it larger"));
}

int write_reply(ChatSession& session, const std::string& place) {
  ModelTextStream shown;
  session.reply([] { return false; }, [&](std::string_view text) { shown.write(text); });
  shown.write("\n");
  if (!session.was_cut()) return kDone;
  log_error(cat(place, "the context of ", session.context(),
                " tokens cut the reply: --ctx makes it larger"));
  return kCheckFailed;
}

int chat_in_pipe(ChatSession& session) {
  StdinLines lines(kLineBytesMax);
  int code = kDone;
  while (const auto line = code == kDone ? lines.next() : std::nullopt) {
    if (is_blank(*line)) continue;
    const std::string place = cat("line ", lines.number(), ": ");
    session.add_user(*line);
    prepare_reply(session, place);
    code = write_reply(session, place);
  }
  return code;
}

}  // namespace ingot
