// The call reader of Python's and Gemma's literals.
#include <algorithm>
#include <utility>

#include "text/chat/tools/call_body.h"

namespace ingot {

namespace {

/// Reads f(a='x', b=[1, True]) or f{a:<|"|>x<|"|>,b:[1,true]}. JSON's literals are allowed too.
class LiteralReader : public CallReader {
 public:
  LiteralReader(const CallSyntax& syntax, const KnownTools& tools)
      : syntax_(syntax), tools_(tools), frame_(syntax.arguments_begin) {}

  Step read(char c, std::size_t offset) override {
    switch (state_) {
      case State::kName:
        return read_name(c, offset);
      case State::kKey:
        return read_key(c, offset);
      case State::kValue:
        return read_value(c, offset);
      case State::kString:
        return read_string(c, offset);
      case State::kWord:
        return read_word(c, offset);
      case State::kBehindKey:
        return read_colon(c);
      case State::kBehind:
        break;
    }
    return read_behind(c, offset);
  }
  bool is_call() const override { return is_call_; }

 private:
  enum class State {
    kName,
    kKey,        // before or in an argument's name
    kValue,      // before a value
    kString,     // in a string
    kWord,       // in a number or a word
    kBehindKey,  // behind an object's key
    kBehind,     // behind a value
  };

  Step read_name(char c, std::size_t offset) {
    const NameReader::Step step = frame_.read(c, offset, name_, span_);
    if (step == NameReader::Step::kFailed) return Step::kFailed;
    if (step != NameReader::Step::kDone) return Step::kMore;
    tool_ = tools_.find(name_);
    if (syntax_.is_bare && tool_ == nullptr) return Step::kFailed;
    state_ = State::kKey;
    span_.arguments_begin = offset + 1;
    return Step::kMore;
  }

  void begin_call() {
    if (is_call_) return;
    is_call_ = true;
    out_ = ArgumentsOut(tool_ != nullptr && tool_->is_custom);
    out_.json("{");
  }

  Step read_key(char c, std::size_t offset) {
    if (is_space(c)) return Step::kMore;
    if (key_.empty() && c == syntax_.arguments_end.front()) {
      begin_call();
      return end_call(offset);
    }
    if (c == syntax_.key_end.front()) {
      if (key_.empty()) return Step::kFailed;
      begin_call();
      span_.arguments.back().key_end = offset;
      span_.arguments.back().value_begin = offset + 1;
      if (key_.size() > 1 && key_.front() == '"' && key_.back() == '"') {
        key_ = key_.substr(1, key_.size() - 2);
      }
      out_.key(key_);
      key_.clear();
      state_ = State::kValue;
      return Step::kMore;
    }
    if (kNotInLiteralKeys.find(c) != std::string_view::npos) return Step::kFailed;
    if (key_.size() > kLiteralKeyMax) return Step::kFailed;
    if (key_.empty()) span_.arguments.push_back({.key_begin = offset});
    key_ += c;
    return Step::kMore;
  }

  Step end_call(std::size_t offset) {
    span_.arguments_end = offset;
    out_.end_arguments();
    out_.json("}");
    return Step::kDone;
  }

  /// Writes what must stand before the next element.
  void begin_element() {
    if (std::exchange(needs_comma_, false)) out_.json(", ");
  }
  void end_element() {
    if (stack_.empty()) {
      state_ = State::kBehind;
      return;
    }
    state_ = is_key_ ? State::kBehindKey : State::kBehind;
  }

  Step read_value(char c, std::size_t offset) {
    if (is_space(c)) return Step::kMore;
    if (!stack_.empty() && is_closer(c)) return close(c, offset);
    if (c == '[' || c == '(' || c == '{') {
      begin_element();
      out_.json(c == '{' ? "{" : "[");
      stack_ += c == '{' ? '{' : '[';
      is_key_ = c == '{';
      return Step::kMore;
    }
    begin_element();
    held_.clear();
    if (c == '"' || c == '\'') {
      out_.begin_string();
      quote_ = c;
      decoder_ = {};
      state_ = State::kString;
      return Step::kMore;
    }
    state_ = State::kWord;
    return read_word(c, offset);
  }

  static bool is_closer(char c) { return c == ']' || c == ')' || c == '}'; }

  Step close(char c, std::size_t offset) {
    if (stack_.empty()) {
      return c == syntax_.arguments_end.front() ? end_call(offset) : Step::kFailed;
    }
    out_.json(stack_.back() == '{' ? "}" : "]");
    stack_.pop_back();
    needs_comma_ = false;
    is_key_ = false;
    end_element();
    end_value(offset + 1);
    return Step::kMore;
  }
  void end_value(std::size_t offset) {
    if (stack_.empty() && !span_.arguments.empty()) span_.arguments.back().value_end = offset;
  }

  Step read_string(char c, std::size_t offset) {
    if (quote_ == '<') {
      held_ += c;
      if (held_.ends_with(syntax_.quote)) {
        held_.resize(held_.size() - syntax_.quote.size());
        out_.string_bytes(held_);
        held_.clear();
        return end_string(offset);
      }
      std::size_t kept = std::min(held_.size(), syntax_.quote.size() - 1);
      while (!held_.ends_with(syntax_.quote.substr(0, kept))) --kept;
      out_.string_bytes(std::string_view(held_).substr(0, held_.size() - kept));
      held_.erase(0, held_.size() - kept);
      return Step::kMore;
    }
    if (c == quote_ && !decoder_.is_in_escape()) return end_string(offset);
    std::string decoded;
    decoder_.add(c, decoded);
    out_.string_bytes(decoded);
    return Step::kMore;
  }
  Step end_string(std::size_t offset) {
    out_.end_string();
    end_element();
    end_value(offset + 1);
    return Step::kMore;
  }

  /// Reads a number, a word, or the quote that JSON does not have.
  Step read_word(char c, std::size_t offset) {
    const bool ends = is_space(c) || c == ',' || is_closer(c) || (is_key_ && c == ':');
    if (!ends) {
      held_ += c;
      if (!syntax_.quote.empty() && held_ == syntax_.quote) {
        out_.begin_string();
        quote_ = '<';
        held_.clear();
        state_ = State::kString;
      } else if (is_number()) {
        out_.json(std::string_view(held_).substr(held_.size() - 1));
      }
      return Step::kMore;
    }
    write_word();
    end_element();
    end_value(offset);
    return state_ == State::kBehindKey ? read_colon(c) : read_behind(c, offset);
  }
  bool is_number() const {
    return !is_key_ && (held_.front() == '-' || (held_.front() >= '0' && held_.front() <= '9'));
  }
  void write_word() {
    if (!held_.empty() && is_number()) return;
    constexpr std::pair<std::string_view, std::string_view> kWords[] = {
        {"True", "true"}, {"False", "false"}, {"None", "null"},
        {"true", "true"}, {"false", "false"}, {"null", "null"}};
    for (const auto& [word, json] : kWords) {
      if (!is_key_ && held_ == word) return out_.json(json);
    }
    out_.begin_string();
    out_.string_bytes(held_);
    out_.end_string();
  }

  Step read_colon(char c) {
    if (is_space(c)) return Step::kMore;
    if (c != ':') return Step::kFailed;
    out_.json(": ");
    is_key_ = false;
    state_ = State::kValue;
    return Step::kMore;
  }

  Step read_behind(char c, std::size_t offset) {
    if (is_space(c)) return Step::kMore;
    if (is_closer(c)) return close(c, offset);
    if (c != ',') return Step::kFailed;
    if (stack_.empty()) {
      state_ = State::kKey;
      return Step::kMore;
    }
    needs_comma_ = true;
    is_key_ = stack_.back() == '{';
    state_ = State::kValue;
    return Step::kMore;
  }

  const CallSyntax& syntax_;
  const KnownTools& tools_;
  NameReader frame_;
  State state_ = State::kName;
  const KnownTools::Entry* tool_ = nullptr;
  bool is_call_ = false;
  std::string key_;      // an argument's name
  std::string stack_;    // open brackets in a value
  std::string held_;     // a word, or the end of a string that may be a quote
  bool is_key_ = false;  // the next string or word is an object's key
  bool needs_comma_ = false;
  char quote_ = 0;  // around the string; '<': the syntax's own
  StringDecoder decoder_;
};

}  // namespace

std::unique_ptr<CallReader> make_literal_reader(const CallSyntax& syntax, const KnownTools& tools) {
  return std::make_unique<LiteralReader>(syntax, tools);
}

}  // namespace ingot
