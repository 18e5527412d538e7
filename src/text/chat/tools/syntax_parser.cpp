// SyntaxParser: a state machine over the reply's bytes.
#include "text/chat/tools/syntax_parser.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "text/chat/tools/mark_prefix.h"

namespace ingot {

namespace {

constexpr std::size_t kSpaceMax = 256;

bool has_body(const ReplySyntax& syntax, CallBody body) {
  return std::any_of(syntax.calls.begin(), syntax.calls.end(),
                     [&](const CallSyntax& form) { return form.body == body; });
}

bool is_all_space(std::string_view text) { return std::all_of(text.begin(), text.end(), is_space); }

}  // namespace

SyntaxParser::SyntaxParser(const Setup& setup, std::span<const Tool> tools)
    : setup_(setup),
      tools_(tools, has_body(*setup.syntax, CallBody::kTagged),
             has_body(*setup.syntax, CallBody::kElements)),
      trims_(setup.in_reasoning) {
  if (setup.in_reasoning) state_ = State::kReasoning;
  may_reason_ = !setup.reasoning.open.empty();
}

void SyntaxParser::add(std::string_view piece, std::vector<ReplyEvent>& events) {
  events_ = &events;
  text_ += piece;
  while (cursor_ < text_.size()) step(text_[cursor_++]);
  taken_ += begin_;
  stage_ -= std::min(stage_, begin_);
  cursor_ -= begin_;
  text_.erase(0, begin_);
  begin_ = 0;
}

void SyntaxParser::finish(std::vector<ReplyEvent>& events) {
  events_ = &events;
  switch (state_) {
    case State::kReasoning:
      emit_text(ReplyEvent::Kind::kReasoning, held());
      break;
    case State::kContent:
    case State::kCallBegin:
      if (in_format_ && held() == setup_.syntax->content_end) break;
      emit_text(ReplyEvent::Kind::kContent, held());
      break;
    case State::kCall:
      if (!call_->is_call()) emit_text(ReplyEvent::Kind::kContent, held());
      break;
    case State::kCallEnd:
    case State::kBetween:
      break;  // a frame that was cut
  }
  drop_held();
}

void SyntaxParser::emit(ReplyEvent::Kind kind, std::string_view text) {
  const bool joins = !events_->empty() && events_->back().kind == kind &&
                     (kind == ReplyEvent::Kind::kContent || kind == ReplyEvent::Kind::kReasoning ||
                      (kind == ReplyEvent::Kind::kCallArguments && events_->back().call == calls_));
  if (joins) {
    events_->back().text += text;
  } else {
    events_->push_back({.kind = kind, .text = std::string(text), .call = calls_});
  }
}

void SyntaxParser::emit_text(ReplyEvent::Kind kind, std::string_view text) {
  if (trims_) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    trims_ = text.empty();
  }
  if (text.empty()) return;
  if (kind == ReplyEvent::Kind::kContent && !is_all_space(text)) {
    at_start_ = false;
    may_reason_ = setup_.reasoning.anywhere;
    in_format_ = setup_.has_format;
  }
  emit(kind, text);
}

void SyntaxParser::step(char c) {
  switch (state_) {
    case State::kContent:
      return step_content();
    case State::kReasoning:
      return step_reasoning();
    case State::kCallBegin:
      return step_call_begin();
    case State::kCall:
      return step_call(c);
    case State::kCallEnd:
      return step_call_end();
    case State::kBetween:
      return step_between();
  }
}

void SyntaxParser::step_reasoning() {
  const std::string_view close = setup_.reasoning.close;
  const std::string_view text = held();
  if (text.ends_with(close)) {
    emit_text(ReplyEvent::Kind::kReasoning, text.substr(0, text.size() - close.size()));
    drop_held();
    state_ = State::kContent;
    trims_ = true;
    may_reason_ = setup_.reasoning.anywhere;
    return;
  }
  const std::size_t kept = begun_mark(text, close);
  emit_text(ReplyEvent::Kind::kReasoning, text.substr(0, text.size() - kept));
  begin_ = cursor_ - kept;
}

std::string_view SyntaxParser::opening(const CallSyntax& syntax) const {
  if (!syntax.section_begin.empty()) return syntax.section_begin;
  if (!syntax.call_begin.empty()) return syntax.call_begin;
  return "{";
}

bool SyntaxParser::try_frames(bool& is_begun) {
  const std::string_view text = held();
  if (may_reason_) {
    const Fit fits = fit(setup_.reasoning.open, text);
    is_begun = is_begun || fits == Fit::kBegun;
    if (fits == Fit::kWhole) {
      drop_held();
      state_ = State::kReasoning;
      trims_ = true;
      return true;
    }
  }
  for (const std::string_view frame : setup_.syntax->frames) {
    if (frame.empty()) break;
    const Fit fits = fit(frame, text);
    is_begun = is_begun || fits == Fit::kBegun;
    if (fits == Fit::kWhole) {
      drop_held();
      trims_ = true;
      return true;
    }
  }
  return false;
}

bool SyntaxParser::try_calls(bool& is_begun) {
  if (!setup_.finds_calls) return false;
  for (std::size_t i = 0; i < setup_.syntax->forms; ++i) {
    const CallSyntax& form = setup_.syntax->calls[i];
    if (form.is_bare && !at_start_) continue;
    const std::string_view part = opening(form);
    const Fit fits = fit(part, held());
    is_begun = is_begun || fits == Fit::kBegun;
    if (fits != Fit::kWhole) continue;
    form_ = &form;
    const std::string_view text = held();
    call_begin_ = taken_ + begin_ + std::min(text.find_first_not_of(" \t\r\n"), text.size());
    in_section_ = !form.section_begin.empty();
    if (in_section_ && !form.call_begin.empty()) {
      state_ = State::kCallBegin;
      stage_ = cursor_;
    } else {
      begin_call(cursor_, !in_section_ && form.call_begin.empty());
    }
    return true;
  }
  return false;
}

/// Holds what may be the text behind the content.
void SyntaxParser::step_format() {
  const std::string_view end = setup_.syntax->content_end;
  const std::string_view text = held();
  std::size_t kept = 0;
  if (!end.empty()) kept = text.ends_with(end) ? end.size() : begun_mark(text, end);
  emit_text(ReplyEvent::Kind::kContent, text.substr(0, text.size() - kept));
  begin_ = cursor_ - kept;
}

void SyntaxParser::step_content() {
  if (in_format_) return step_format();
  bool is_begun = false;
  if (try_frames(is_begun) || try_calls(is_begun)) return;
  // A run of white space may stand before a call; without calls and tags, nothing is held.
  if (is_begun && !(held().size() > kSpaceMax && is_all_space(held()))) return;
  fail();
}

/// Takes the first held byte for content, or all white space there, and reads the others again.
void SyntaxParser::fail() {
  state_ = State::kContent;
  call_.reset();
  const std::string_view text = held();
  const std::size_t spaces = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  const std::size_t taken = std::max<std::size_t>(spaces, 1);
  emit_text(ReplyEvent::Kind::kContent, text.substr(0, taken));
  begin_ += taken;
  cursor_ = begin_;
}

void SyntaxParser::begin_call(std::size_t from, bool rereads) {
  stage_ = from;
  call_ = make_call_reader(*form_, tools_);
  state_ = State::kCall;
  if (rereads) --cursor_;
}

void SyntaxParser::step_call_begin() {
  const Fit fits = fit(form_->call_begin, std::string_view(text_).substr(stage_, cursor_ - stage_));
  if (fits == Fit::kNo) return fail();
  if (fits == Fit::kWhole) begin_call(cursor_, false);
}

void SyntaxParser::take_arguments() {
  const std::string text = call_->out().take();
  if (!text.empty()) emit(ReplyEvent::Kind::kCallArguments, text);
}

void SyntaxParser::step_call(char c) {
  const bool was_call = call_->is_call();
  const CallReader::Step step = call_->read(c, offset());
  if (!call_->is_call()) {
    if (step == CallReader::Step::kFailed) fail();
    return;
  }
  if (!was_call) {
    emit(ReplyEvent::Kind::kCallBegin, call_->name());
    at_start_ = false;
    may_reason_ = setup_.reasoning.anywhere;
  }
  take_arguments();
  if (step == CallReader::Step::kFailed) {
    // A call that is broken has no end; what follows is content.
    begin_ = --cursor_;
    ++calls_;
    state_ = State::kContent;
    return;
  }
  drop_held();
  if (step == CallReader::Step::kMore) return;
  if (step == CallReader::Step::kDoneBefore) begin_ = --cursor_;
  emit(ReplyEvent::Kind::kCallEnd, {});
  spans_.push_back(call_->span());
  spans_.back().begin = call_begin_;
  spans_.back().end = taken_ + cursor_;
  ++calls_;
  trims_ = true;
  state_ = form_->call_end.empty() ? State::kBetween : State::kCallEnd;
}

void SyntaxParser::step_call_end() {
  const Fit fits = fit(form_->call_end, held());
  if (fits == Fit::kBegun) return;
  state_ = State::kBetween;
  if (fits == Fit::kWhole) {
    drop_held();
    spans_.back().end = taken_ + cursor_;
  } else {
    cursor_ = begin_;
  }
}

void SyntaxParser::step_between() {
  bool is_begun = false;
  const std::string_view text = held();
  const auto fits_whole = [&](std::string_view part) {
    const Fit fits = part.empty() ? Fit::kNo : fit(part, text);
    is_begun = is_begun || fits == Fit::kBegun;
    return fits == Fit::kWhole;
  };
  if (in_section_ && fits_whole(form_->section_end)) {
    drop_held();
    spans_.back().end = taken_ + cursor_;
    state_ = State::kContent;
    return;
  }
  const bool has_begin = !form_->call_begin.empty();
  const bool names = form_->body != CallBody::kObject;
  const std::string begin(has_begin ? form_->call_begin : names ? std::string_view() : "{");
  if (in_section_ || !form_->separator.empty()) {
    const bool begins =
        (form_->separator.empty() || form_->body == CallBody::kObject) && fits_whole(begin);
    if (begins || fits_whole(cat(form_->separator, " ", begin))) {
      call_begin_ = taken_ + begin_;
      begin_call(cursor_, !has_begin && !names);
      return;
    }
  }
  if (is_begun) return;
  state_ = State::kContent;
  cursor_ = begin_;
}

}  // namespace ingot
