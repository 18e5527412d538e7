// Parses replies in tests, and writes their events as one text.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "text/chat/tools/reply_parser.h"
#include "text/chat/tools/syntax_parser.h"

namespace ingot::testing {

/// A parsed reply.
struct ParsedReply {
  struct Call {
    std::string name;
    std::string arguments;
    bool has_end = false;
  };
  std::string log;  ///< R(reasoning) C(content) B(name) A(arguments) E, in order, joined
  std::string content, reasoning;
  std::vector<Call> calls;
};

/// Joins events, as a client would.
inline ParsedReply join_events(const std::vector<ReplyEvent>& events) {
  ParsedReply reply;
  char last = 0;
  for (const ReplyEvent& e : events) {
    const char kind = "RCBAE"[static_cast<std::size_t>(e.kind)];
    const bool joins = kind == last && (kind == 'R' || kind == 'C' || kind == 'A');
    if (!joins && last != 0 && last != 'E') reply.log += ')';
    if (!joins) reply.log += kind;
    if (!joins && kind != 'E') reply.log += '(';
    reply.log += e.text;
    last = kind;
    if (kind == 'R') reply.reasoning += e.text;
    if (kind == 'C') reply.content += e.text;
    if (kind == 'B') reply.calls.push_back({e.text, "", false});
    if (kind == 'A') reply.calls.at(e.call).arguments += e.text;
    if (kind == 'E') reply.calls.at(e.call).has_end = true;
  }
  if (last != 0 && last != 'E') reply.log += ')';
  return reply;
}

/// Parses a text in pieces of a size.
inline ParsedReply parse_with(ReplyParser& parser, std::string_view text, std::size_t piece) {
  std::vector<ReplyEvent> events;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view part = rest.substr(0, piece);
    std::vector<ReplyEvent> more;
    parser.add(part, more);
    events.insert(events.end(), more.begin(), more.end());
    rest.remove_prefix(part.size());
  }
  std::vector<ReplyEvent> more;
  parser.finish(more);
  events.insert(events.end(), more.begin(), more.end());
  return join_events(events);
}

inline const ReplySyntax& syntax_named(std::string_view name) {
  for (const ReplySyntax& syntax : reply_syntaxes()) {
    if (syntax.name == name) return syntax;
  }
  throw std::out_of_range(std::string(name));
}

inline ParsedReply parse_reply(const ReplySyntax& syntax, std::span<const Tool> tools,
                               std::string_view text, std::size_t piece, bool in_reasoning) {
  const bool is_own = !syntax.reasoning.open.empty();
  SyntaxParser parser(
      {.syntax = &syntax,
       .reasoning =
           is_own ? syntax.reasoning : ReasoningSyntax{.open = "<think>", .close = "</think>"},
       .in_reasoning = in_reasoning},
      tools);
  return parse_with(parser, text, piece);
}

}  // namespace ingot::testing
