// The call reader of arguments between tags: strings as they are, other values as JSON.
#include <utility>

#include "base/text.h"
#include "text/chat/tools/call_body.h"
#include "text/chat/tools/mark_prefix.h"
#include "text/chat/tools/value_writer.h"

namespace ingot {

namespace {

class TaggedReader : public TagReader {
 public:
  TaggedReader(const CallSyntax& syntax, const KnownTools& tools) : TagReader(syntax, tools) {}

  Step read(char c, std::size_t offset) override {
    switch (state_) {
      case State::kName:
        return read_begin(c, offset);
      case State::kNext:
        return read_next(c, offset);
      case State::kKey:
        return read_key(c, offset);
      case State::kKeyEnd:
        return read_key_end(c, offset);
      case State::kValue:
        break;
    }
    return read_value(c, offset);
  }

 private:
  enum class State { kName, kNext, kKey, kKeyEnd, kValue };

  Step read_begin(char c, std::size_t offset) {
    const Step step = read_name(c, offset);
    if (step != Step::kDone && step != Step::kDoneBefore) return step;
    state_ = State::kNext;
    return step == Step::kDoneBefore ? read_next(c, offset) : Step::kMore;
  }

  Step read_next(char c, std::size_t offset) {
    held_ += c;
    const Fit key = fit(syntax_.key_begin, held_);
    const Fit end = fit(syntax_.arguments_end, held_);
    if (key == Fit::kNo && end == Fit::kNo) return Step::kFailed;
    if (key != Fit::kWhole && end != Fit::kWhole) return Step::kMore;
    held_.clear();
    if (end == Fit::kWhole) return end_call();
    begin_call();
    state_ = State::kKey;
    key_.clear();
    span_.arguments.push_back({.key_begin = offset + 1});
    return Step::kMore;
  }

  Step read_key(char c, std::size_t offset) {
    if (c != syntax_.key_end.front()) {
      key_ += c;
      return Step::kMore;
    }
    span_.arguments.back().key_end = offset;
    state_ = State::kKeyEnd;
    return read_key_end(c, offset);
  }

  Step read_key_end(char c, std::size_t offset) {
    held_ += c;
    const Fit fits = fit(syntax_.key_end, held_);
    if (fits == Fit::kNo) return Step::kFailed;
    if (fits == Fit::kBegun) return Step::kMore;
    out_.key(key_);
    value_ = ValueWriter(types());
    nested_ = NestedStrings(types());
    held_.clear();
    state_ = State::kValue;
    is_value_begin_ = true;
    may_be_raw_ = !syntax_.raw_begin.empty();
    end_ = syntax_.value_end;
    span_.arguments.back().value_begin = offset + 1;
    return Step::kMore;
  }
  /// How the argument is written: by its tag if this tells the type, else by the tool's schema.
  JsonTypes types() const {
    if (out_.is_custom()) return json_type::kString;
    if (syntax_.key_end.find("%s") != std::string_view::npos) {
      const std::size_t type = held_.rfind("=\"");
      const std::string_view rest = std::string_view(held_).substr(type + 2);
      const bool is_string = rest.starts_with("true\"") || rest.starts_with("string\"");
      return is_string ? json_type::kString : json_type::kAll & ~json_type::kString;
    }
    return tool_ == nullptr ? json_type::kAll : tool_->types.of(key_);
  }

  Step read_value(char c, std::size_t offset) {
    const bool is_first = is_value_begin_;
    is_value_begin_ = false;
    if (is_first && syntax_.has_value_lines && c == '\n') {
      span_.arguments.back().value_begin = offset + 1;
      return Step::kMore;
    }
    held_ += c;
    nested_.add(c);
    if (may_be_raw_) {
      if (held_ == syntax_.raw_begin) {
        nested_ = NestedStrings();
        end_ = cat(syntax_.raw_end, syntax_.value_end);
        held_.clear();
      }
      may_be_raw_ = !held_.empty() && syntax_.raw_begin.starts_with(held_);
      if (held_.empty() || may_be_raw_) return Step::kMore;
    }
    const std::string_view end = end_;
    if (nested_.is_inside()) {
      value_.add(held_, out_);
      held_.clear();
      return Step::kMore;
    }
    if (held_.ends_with(end)) {
      held_.resize(held_.size() - end.size());
      CallSpan::Argument& argument = span_.arguments.back();
      argument.value_end = offset + 1 - end.size();
      if (syntax_.has_value_lines && held_.ends_with('\n')) {
        held_.pop_back();
        --argument.value_end;
      }
      value_.add(held_, out_);
      value_.finish(out_);
      held_.clear();
      span_.arguments_end = offset + 1;
      state_ = State::kNext;
      return Step::kMore;
    }
    std::size_t kept = begun_mark(held_, end);
    if (syntax_.has_value_lines && held_.size() > kept && held_[held_.size() - kept - 1] == '\n') {
      ++kept;
    }
    value_.add(std::string_view(held_).substr(0, held_.size() - kept), out_);
    held_.erase(0, held_.size() - kept);
    return Step::kMore;
  }

  State state_ = State::kName;
  bool is_value_begin_ = false;
  bool may_be_raw_ = false;  // the value may begin with `raw_begin`
  std::string end_{};        // ends the value
  std::string held_, key_;
  ValueWriter value_;
  NestedStrings nested_;
};

}  // namespace

std::unique_ptr<CallReader> make_tagged_reader(const CallSyntax& syntax, const KnownTools& tools) {
  return std::make_unique<TaggedReader>(syntax, tools);
}

}  // namespace ingot
