// A dialect for tests: replies are "(reasoning)", "[name:arguments]" and content between.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/common/reply_reader.h"

namespace ingot::testing {

/// Parses "(reasoning)", "[name:arguments]" and content between, byte by byte.
class PlainParser final : public ReplyParser {
 public:
  void add(std::string_view piece, std::vector<ReplyEvent>& events) override {
    for (const char c : piece) add(c, events);
  }
  void finish(std::vector<ReplyEvent>& /*events*/) override {}
  bool is_in_reasoning() const override { return state_ == State::kReasoning; }
  bool is_in_call() const override { return state_ >= State::kName; }

 private:
  enum class State { kContent, kReasoning, kName, kArguments };

  void add(char c, std::vector<ReplyEvent>& events) {
    const std::string text(1, c);
    if (state_ == State::kContent && c == '(') {
      state_ = State::kReasoning;
    } else if (state_ == State::kReasoning && c == ')') {
      state_ = State::kContent;
    } else if (state_ == State::kContent && c == '[') {
      state_ = State::kName;
    } else if (state_ == State::kName && c == ':') {
      events.push_back(
          {.kind = ReplyEvent::Kind::kCallBegin, .text = std::exchange(name_, {}), .call = call_});
      state_ = State::kArguments;
    } else if (state_ == State::kName) {
      name_ += c;
    } else if (state_ == State::kArguments && c == ']') {
      events.push_back({.kind = ReplyEvent::Kind::kCallEnd, .call = call_++});
      state_ = State::kContent;
    } else if (state_ == State::kArguments) {
      events.push_back({.kind = ReplyEvent::Kind::kCallArguments, .text = text, .call = call_});
    } else {
      const bool is_content = state_ == State::kContent;
      events.push_back(
          {.kind = is_content ? ReplyEvent::Kind::kContent : ReplyEvent::Kind::kReasoning,
           .text = text});
    }
  }

  State state_ = State::kContent;
  std::string name_;
  std::size_t call_ = 0;
};

/// The dialect of PlainParser. It adds no tools and no grammar.
class PlainDialect final : public ToolDialect {
 public:
  std::string_view name() const override { return "plain"; }
  bool is_native() const override { return true; }
  std::span<const std::string> markers() const override { return {}; }
  std::string_view reasoning_begin() const override { return "("; }
  std::string_view reasoning_end() const override { return ")"; }
  std::vector<LostParts> add_tools(ChatInput&, std::span<const Tool>,
                                   const ToolChoice&) const override {
    return {};
  }
  ReplyBegin begin_of(std::string_view) const override { return {}; }
  std::unique_ptr<ReplyParser> make_parser(const ReplyBegin&,
                                           std::span<const Tool>) const override {
    return std::make_unique<PlainParser>();
  }
  std::unique_ptr<ReplyParser> make_content_parser(const ReplyBegin&) const override {
    return std::make_unique<PlainParser>();
  }
  NodeId add_reply(Grammar&, const ReplyBegin&, std::span<const Tool>, const ToolChoice&,
                   std::vector<SchemaNote>&, CompileBudget&) const override {
    return kNoNode;
  }
  NodeId add_content_reply(Grammar&, const ReplyBegin&, NodeId content,
                           CompileBudget&) const override {
    return content;
  }
};

/// How to read such replies.
inline ReplyFormat plain_format(std::vector<std::string> stops = {}) {
  return {.dialect = std::make_shared<PlainDialect>(),
          .begin = {.can_reason = true},
          .stops = std::move(stops)};
}

}  // namespace ingot::testing
