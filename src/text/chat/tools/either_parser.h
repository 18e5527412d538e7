// EitherParser: reads a reply that is calls or content of a format, as the grammar decides.
#pragma once

#include <memory>

#include "constraint/matcher.h"
#include "text/chat/tools/reply_parser.h"

namespace ingot {

/// One of the two readings of a reply.
struct ReplyReading {
  std::shared_ptr<const MatcherGrammar> grammar{};  ///< the replies that have this reading
  std::unique_ptr<ReplyParser> parser{};
};

/// Returns a parser for replies that are either calls or content. A text is read as the side whose
/// grammar allows it, so that content which holds the text of a call stays content. Events on which
/// both readings agree, such as reasoning, come at once; others when one grammar is left. A reply
/// that both allow to its end is calls if these are complete, else content.
std::unique_ptr<ReplyParser> make_either_parser(ReplyReading calls, ReplyReading content);

}  // namespace ingot
