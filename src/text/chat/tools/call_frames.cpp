// Learns frames from texts, and writes calls with them.
#include "text/chat/tools/call_frames.h"

#include <algorithm>

#include "base/text.h"

namespace ingot {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), by);
    at += by.size();
  }
}

/// Makes digits holes that differ between the same frame of two calls. Looks from the ends.
void mark_numbers(std::string& first, std::string& second) {
  std::size_t a = first.size(), b = second.size();
  while (a > 0 && b > 0) {
    --a;
    --b;
    if (first[a] == second[b]) continue;
    if (!is_digit(first[a]) || !is_digit(second[b])) return;
    first[a] = kNumberHole;
    second[b] = kNumberHole;
  }
}

class Learner {
 public:
  explicit Learner(const CallText& calls) : calls_(calls) {}

  std::string slice(std::size_t begin, std::size_t end) const {
    std::string text = begin <= end && end <= calls_.text.size()
                           ? calls_.text.substr(begin, end - begin)
                           : std::string();
    for (const std::string& id : calls_.ids) replace_all(text, id, std::string(1, kIdHole));
    return text;
  }

 private:
  const CallText& calls_;
};

/// Learns the frames of arguments that are not JSON objects: what stands around each key and value.
bool learn_arguments(CallFrames& frames, const CallText& calls, const CallText& empty) {
  const CallSpan& span = calls.spans.back();
  if (span.arguments.size() != 2) return false;
  const CallSpan::Argument& text = span.arguments[0];
  const CallSpan::Argument& number = span.arguments[1];
  const Learner learner(calls);
  frames.key_begin = frames.syntax->key_begin;
  frames.string_key_end = learner.slice(text.key_end, text.value_begin);
  frames.other_key_end = learner.slice(number.key_end, number.value_begin);
  frames.middle = learner.slice(span.name_end, text.key_begin);
  if (!frames.middle.ends_with(frames.key_begin)) return false;
  frames.middle.resize(frames.middle.size() - frames.key_begin.size());
  std::string between = learner.slice(text.value_end, number.key_begin);
  if (!between.ends_with(frames.key_begin)) return false;
  between.resize(between.size() - frames.key_begin.size());
  const std::string_view end = frames.syntax->value_end;
  const std::size_t at = between.find(end);
  if (at == std::string::npos) return false;
  frames.value_end = between.substr(0, at + end.size());
  const std::string first_end = value_end_of(frames, learner.slice(text.key_begin, text.key_end));
  if (!between.starts_with(first_end)) return false;
  frames.value_separator = between.substr(first_end.size());
  frames.close = learner.slice(number.value_end, span.end);
  const std::string last_end =
      value_end_of(frames, learner.slice(number.key_begin, number.key_end));
  if (!frames.close.starts_with(last_end)) return false;
  frames.close.erase(0, last_end.size());
  if (empty.spans.size() != 1) return false;
  const CallSpan& none = empty.spans.front();
  // Without arguments, a shorter text may stand in the place of `middle`.
  frames.empty = Learner(empty).slice(none.name_end, none.end);
  const bool has_close = frames.empty.ends_with(frames.close);
  frames.empty =
      has_close ? frames.empty.substr(0, frames.empty.size() - frames.close.size()) : frames.middle;
  if (frames.syntax->body == CallBody::kLiteral) {
    const std::string value = learner.slice(text.value_begin, text.value_end);
    const bool is_own = !frames.syntax->quote.empty() && value.starts_with(frames.syntax->quote);
    frames.quote = is_own ? std::string(frames.syntax->quote) : value.substr(0, 1);
  }
  return true;
}

std::string json_text(const Json& value) {
  return value.as_string() != nullptr ? *value.as_string() : value.dump();
}

std::string literal(const CallFrames& frames, const Json& value) {
  const std::string* text = value.as_string();
  if (text == nullptr) return value.dump();
  if (frames.quote.size() > 1) return cat(frames.quote, *text, frames.quote);
  if (text->find_first_of("'\\\n\r") != std::string::npos) return value.dump();
  return cat(frames.quote, *text, frames.quote);
}

std::string filled(std::string_view frame, std::size_t call) {
  std::string out;
  for (const char c : frame) {
    if (c == kIdHole || c == kNumberHole) {
      out += std::to_string(call);
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string value_end_of(const CallFrames& frames, std::string_view key) {
  if (frames.syntax->body != CallBody::kElements) return frames.value_end;
  return cat(frames.value_end, key, frames.syntax->key_end);
}

std::optional<CallFrames> learn_frames(const CallSyntax& syntax, const CallText& calls,
                                       const CallText* empty) {
  const std::vector<CallSpan>& spans = calls.spans;
  if (spans.empty() || spans.size() > 2) return std::nullopt;
  const bool has_json = syntax.body == CallBody::kObject || syntax.body == CallBody::kNamed;
  const Learner learner(calls);
  CallFrames frames{.syntax = &syntax};
  const auto end_of = [&](const CallSpan& span) {
    return has_json ? span.arguments_end : span.arguments.back().value_end;
  };
  const std::string name = learner.slice(spans[0].name_begin, spans[0].name_end);
  frames.lead = learner.slice(0, spans[0].begin);
  replace_all(frames.lead, name, std::string(1, kNameHole));
  frames.open = learner.slice(spans[0].begin, spans[0].name_begin);
  frames.middle = learner.slice(spans[0].name_end, spans[0].arguments_begin);
  frames.close = learner.slice(spans.back().arguments_end, spans.back().end);
  if (!has_json && (empty == nullptr || !learn_arguments(frames, calls, *empty))) {
    return std::nullopt;
  }
  if (spans.size() == 2) {
    frames.between = learner.slice(end_of(spans[0]), spans[1].name_begin);
    if (!has_json) {
      const CallSpan::Argument& last = spans[0].arguments.back();
      const std::string end = value_end_of(frames, learner.slice(last.key_begin, last.key_end));
      if (!frames.between->starts_with(end)) return std::nullopt;
      frames.between->erase(0, end.size());
    }
    mark_numbers(frames.open, *frames.between);
    std::string middle = has_json ? learner.slice(spans[1].name_end, spans[1].arguments_begin)
                                  : learner.slice(spans[0].name_end, spans[0].name_end);
    if (has_json) mark_numbers(frames.middle, middle);
  }
  // Calls whose headers hold names stand in messages of their own.
  const std::string last = learner.slice(spans.back().name_begin, spans.back().name_end);
  if (frames.between && frames.between->find(last) != std::string::npos) frames.between.reset();
  // A number in a call's own frame counts calls: it stands there for one call alone.
  for (std::string* frame : {&frames.middle, &frames.empty}) {
    if (syntax.arguments_begin.find("%d") == std::string_view::npos) break;
    std::replace_if(frame->begin(), frame->end(), is_digit, kNumberHole);
  }
  return frames;
}

std::string write_calls(const CallFrames& frames, const std::vector<CallToWrite>& calls) {
  const bool has_json =
      frames.syntax->body == CallBody::kObject || frames.syntax->body == CallBody::kNamed;
  std::string out;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    // Without a form for several calls, they stand in one reply each with its own frame.
    if (i > 0 && !frames.between) out += frames.close;
    out += filled(i > 0 && frames.between ? *frames.between : frames.open, i);
    out += calls[i].name;
    const Json::Object* members = calls[i].arguments.as_object();
    if (has_json) {
      out += filled(frames.middle, i);
      out += members == nullptr ? "{}" : calls[i].arguments.dump();
      continue;
    }
    const bool is_empty = members == nullptr || members->empty();
    out += filled(is_empty ? frames.empty : frames.middle, i);
    bool is_first = true;
    for (const auto& [key, value] : members == nullptr ? Json::Object() : *members) {
      if (!is_first) out += frames.value_separator;
      is_first = false;
      const bool is_string = value.as_string() != nullptr;
      out += cat(frames.key_begin, key, is_string ? frames.string_key_end : frames.other_key_end);
      out += frames.syntax->body == CallBody::kLiteral ? literal(frames, value) : json_text(value);
      out += value_end_of(frames, key);
    }
  }
  return out + frames.close;
}

}  // namespace ingot
