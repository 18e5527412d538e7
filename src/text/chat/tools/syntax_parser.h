// SyntaxParser: the ReplyParser of every family of the table.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/chat/tools/call_body.h"
#include "text/chat/tools/call_syntax.h"
#include "text/chat/tools/reply_parser.h"

namespace ingot {

/// Parses replies by a family's syntax, byte by byte. A text that may be the beginning of a call or
/// a frame is held until this is decided; any other text is content, and its first
/// byte's successors are looked at again.
///
/// White space is dropped around calls, and directly behind the tags of reasoning.
class SyntaxParser : public ReplyParser {
 public:
  struct Setup {
    const ReplySyntax* syntax = nullptr;
    ReasoningSyntax reasoning{};  ///< empty tags: replies have no reasoning
    bool in_reasoning = false;
    bool finds_calls = true;
    /// Everything behind the first byte of content is content, up to the syntax's content_end.
    bool has_format = false;
  };
  SyntaxParser(const Setup& setup, std::span<const Tool> tools);

  void add(std::string_view piece, std::vector<ReplyEvent>& events) override;
  void finish(std::vector<ReplyEvent>& events) override;
  bool is_in_reasoning() const override { return state_ == State::kReasoning; }
  bool is_in_call() const override { return state_ == State::kCall && call_->is_call(); }
  /// The calls so far, with their places in the text.
  const std::vector<CallSpan>& spans() const { return spans_; }

 private:
  enum class State {
    kContent,
    kReasoning,
    kCallBegin,  // behind the beginning of a section
    kCall,
    kCallEnd,  // behind the arguments
    kBetween,  // behind a call, in its section
  };

  std::string_view held() const { return std::string_view(text_).substr(begin_, cursor_ - begin_); }
  std::size_t offset() const { return taken_ + cursor_ - 1; }
  void step(char c);
  void step_content();
  void step_format();
  void step_reasoning();
  void step_call_begin();
  void step_call(char c);
  void step_call_end();
  void step_between();
  bool try_frames(bool& is_begun);
  bool try_calls(bool& is_begun);
  std::string_view opening(const CallSyntax& syntax) const;
  void begin_call(std::size_t offset_of_reader, bool rereads);
  void fail();
  void emit(ReplyEvent::Kind kind, std::string_view text);
  void emit_text(ReplyEvent::Kind kind, std::string_view text);
  void take_arguments();
  void drop_held() { begin_ = cursor_; }

  Setup setup_;
  KnownTools tools_;
  std::vector<ReplyEvent>* events_ = nullptr;

  std::string text_{};      // bytes that are not decided, or not read
  std::size_t begin_ = 0;   // the first that is not decided
  std::size_t cursor_ = 0;  // the next to read
  std::size_t taken_ = 0;   // bytes before `text_`

  State state_ = State::kContent;
  bool at_start_ = true;    // no content and no call yet
  bool may_reason_ = true;  // no reasoning and no content yet
  bool trims_ = false;      // white space is dropped
  bool in_format_ = false;  // behind the first byte of content that has a format
  bool in_section_ = false;
  const CallSyntax* form_ = nullptr;
  std::unique_ptr<CallReader> call_{};
  std::size_t call_begin_ = 0;  // in the text, of the section or the call
  std::size_t stage_ = 0;       // index in `text_` where the current part begins
  std::size_t calls_ = 0;
  std::vector<CallSpan> spans_{};
};

}  // namespace ingot
