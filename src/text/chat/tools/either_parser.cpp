// EitherParser: two parsers and two matchers, of which the reply's bytes leave one each.
#include "text/chat/tools/either_parser.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

namespace ingot {

namespace {

bool is_text_event(const ReplyEvent& event) {
  return event.kind == ReplyEvent::Kind::kContent || event.kind == ReplyEvent::Kind::kReasoning;
}

/// Events that are not passed on yet. Adjacent texts of one kind are one event.
class HeldEvents {
 public:
  void add(std::vector<ReplyEvent>& more) {
    for (ReplyEvent& event : more) {
      const bool joins =
          is_text_event(event) && !events_.empty() && events_.back().kind == event.kind;
      if (joins) {
        events_.back().text += event.text;
      } else {
        events_.push_back(std::move(event));
      }
    }
    more.clear();
  }
  void take_all(std::vector<ReplyEvent>& out) {
    for (ReplyEvent& event : events_) out.push_back(std::move(event));
    events_.clear();
  }
  /// Moves the texts to `out` with which both begin.
  static void take_equal(HeldEvents& a, HeldEvents& b, std::vector<ReplyEvent>& out) {
    while (!a.events_.empty() && !b.events_.empty()) {
      ReplyEvent& first = a.events_.front();
      ReplyEvent& second = b.events_.front();
      if (!is_text_event(first) || first.kind != second.kind) return;
      const auto ends = std::mismatch(first.text.begin(), first.text.end(), second.text.begin(),
                                      second.text.end());
      const auto equal = static_cast<std::size_t>(ends.first - first.text.begin());
      if (equal == 0) return;
      out.push_back({.kind = first.kind, .text = first.text.substr(0, equal)});
      a.drop(equal);
      b.drop(equal);
    }
  }

 private:
  void drop(std::size_t bytes) {
    events_.front().text.erase(0, bytes);
    if (events_.front().text.empty()) events_.erase(events_.begin());
  }

  std::vector<ReplyEvent> events_;
};

class EitherParser : public ReplyParser {
 public:
  EitherParser(ReplyReading calls, ReplyReading content)
      : sides_{Side(std::move(calls)), Side(std::move(content))} {}

  void add(std::string_view piece, std::vector<ReplyEvent>& events) override {
    if (chosen_ == nullptr) choose(piece);
    if (chosen_ != nullptr) {
      flush(events);
      chosen_->parser->add(piece, events);
      return;
    }
    for (Side& side : sides_) {
      side.parser->add(piece, made_);
      side.held.add(made_);
    }
    HeldEvents::take_equal(calls().held, content().held, events);
  }

  void finish(std::vector<ReplyEvent>& events) override {
    if (chosen_ == nullptr) chosen_ = calls().matcher->is_complete() ? &calls() : &content();
    flush(events);
    chosen_->parser->finish(events);
  }

  bool is_in_reasoning() const override {
    return (chosen_ != nullptr ? *chosen_ : sides_[1]).parser->is_in_reasoning();
  }
  bool is_in_call() const override { return chosen_ != nullptr && chosen_->parser->is_in_call(); }

 private:
  struct Side {
    explicit Side(ReplyReading reading)
        : matcher(std::move(reading.grammar)), parser(std::move(reading.parser)) {}
    std::optional<Matcher> matcher;
    std::unique_ptr<ReplyParser> parser;
    HeldEvents held{};
  };

  Side& calls() { return sides_[0]; }
  Side& content() { return sides_[1]; }

  /// Chooses the side whose grammar allows more of the text, if only one allows all of it. A text
  /// that both grammars leave at the same byte, which no constrained reply is, is content.
  void choose(std::string_view piece) {
    const bool may_call = calls().matcher->accept_bytes(piece);
    const bool may_speak = content().matcher->accept_bytes(piece);
    if (may_call && may_speak) return;
    chosen_ = may_call ? &calls() : &content();
    if (may_call || may_speak) return;
    for (const char& c : piece) {
      const std::string_view byte(&c, 1);
      const bool is_call = calls().matcher->accept_bytes(byte);
      const bool is_content = content().matcher->accept_bytes(byte);
      if (is_call && is_content) continue;
      if (is_call) chosen_ = &calls();
      return;
    }
  }

  /// Passes on what the chosen side held, and frees the other's memory.
  void flush(std::vector<ReplyEvent>& events) {
    for (Side& side : sides_) {
      side.matcher.reset();
      if (&side != chosen_) side.held = {};
    }
    chosen_->held.take_all(events);
  }

  std::array<Side, 2> sides_;
  Side* chosen_ = nullptr;
  std::vector<ReplyEvent> made_{};
};

}  // namespace

std::unique_ptr<ReplyParser> make_either_parser(ReplyReading calls, ReplyReading content) {
  return std::make_unique<EitherParser>(std::move(calls), std::move(content));
}

}  // namespace ingot
