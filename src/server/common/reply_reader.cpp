// ReplyReader: joins a parser's events, and ends the content at stop strings.
#include "server/common/reply_reader.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "server/common/request_id.h"
#include "text/chat/tools/either_parser.h"

namespace ingot {

namespace {

using Kind = ReplyEvent::Kind;

std::unique_ptr<ReplyParser> parser_of(const ReplyFormat& format) {
  const ToolDialect& dialect = *format.dialect;
  if (!format.has_format) return dialect.make_parser(format.begin, *format.tools);
  auto content = dialect.make_content_parser(format.begin);
  if (!format.calls) return content;
  return make_either_parser({format.calls, dialect.make_parser(format.begin, *format.tools)},
                            {format.content, std::move(content)});
}

}  // namespace

const Tool* ReplyFormat::find_tool(std::string_view name) const {
  const auto at = std::find_if(tools->begin(), tools->end(),
                               [&](const Tool& tool) { return tool.name == name; });
  return at == tools->end() ? nullptr : &*at;
}

ReplyReader::ReplyReader(const ReplyFormat& format)
    : parser_(parser_of(format)),
      stops_(format.stops),
      stop_end_(format.include_stop ? StopEnd::kBehind : StopEnd::kBefore),
      content_(stops_, stop_end_),
      min_tokens_(format.min_tokens),
      hides_reasoning_(format.hides_reasoning),
      shows_reasoning_(format.shows_reasoning()) {}

void ReplyReader::add(const Delta& delta) {
  if (has_stopped()) return;
  tokens_ += std::ssize(delta.ids);
  const bool was_inside = parser_->is_in_reasoning();
  parts_.clear();
  parser_->add(delta.text, parts_);
  was_reasoning_ = was_inside || parser_->is_in_reasoning();
  if (was_reasoning_) reasoning_tokens_ += std::ssize(delta.ids);
  accept_parts();
}

void ReplyReader::finish() {
  if (has_stopped()) return;
  parts_.clear();
  parser_->finish(parts_);
  accept_parts();
  if (!has_stopped()) end_content();
}

void ReplyReader::accept_parts() {
  for (ReplyEvent& part : parts_) {
    if (part.kind == Kind::kContent) {
      has_content_ = true;
      part.text = content_.add(part.text, tokens_ >= min_tokens_);
    } else {
      end_content();
    }
    if (has_stopped() && part.kind != Kind::kContent) return;
    push(std::move(part));
    if (has_stopped()) return;
  }
}

/// Releases content that was held back as the possible beginning of a stop string: such a string
/// does not continue behind a call.
void ReplyReader::end_content() {
  if (!std::exchange(has_content_, false)) return;
  push({.kind = Kind::kContent, .text = content_.finish()});
  if (!has_stopped()) content_ = StopText(stops_, stop_end_);
}

void ReplyReader::push(ReplyEvent event) {
  const bool is_text = event.kind != Kind::kCallBegin && event.kind != Kind::kCallEnd;
  if (is_text && event.text.empty()) return;
  if (event.kind == Kind::kReasoning && hides_reasoning_) return;
  if (event.kind == Kind::kCallBegin) {
    calls_ = std::max(calls_, event.call + 1);
    is_in_call_ = true;
  }
  if (event.kind == Kind::kCallEnd) is_in_call_ = false;
  const bool continues = is_text && !events_.empty() && events_.back().kind == event.kind &&
                         events_.back().call == event.call;
  if (continues) {
    events_.back().text += event.text;
  } else {
    events_.push_back(std::move(event));
  }
}

std::string_view ReplyReader::finish_reason(const Outcome& outcome) const {
  if (has_stopped()) return "stop";
  const bool is_complete = calls_ > 0 && !is_in_call_;
  return outcome.finish == FinishReason::kStop && is_complete ? "tool_calls"
                                                              : to_string(outcome.finish);
}

std::string new_call_id(std::string_view prefix) {
  constexpr std::size_t kDigits = 24;
  return cat(prefix, new_request_id().substr(0, kDigits));
}

}  // namespace ingot
