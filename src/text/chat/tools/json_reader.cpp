// JSON readers: state machines over bytes, without a stack.
#include "text/chat/tools/json_reader.h"

#include "text/chat/tools/call_syntax.h"

namespace ingot {

namespace {

bool is_scalar(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
         c == '+' || c == '.';
}

}  // namespace

JsonValueReader::Step JsonValueReader::read(char c) {
  if (!has_begun_) {
    has_begun_ = true;
    is_string_ = c == '"';
    depth_ = c == '{' || c == '[' ? 1 : 0;
    return is_string_ || depth_ > 0 || is_scalar(c) ? Step::kMore : Step::kBad;
  }
  if (is_string_) {
    if (is_escape_) {
      is_escape_ = false;
    } else if (c == '\\') {
      is_escape_ = true;
    } else if (c == '"') {
      is_string_ = false;
      if (depth_ == 0) return Step::kLast;
    }
    return Step::kMore;
  }
  if (depth_ == 0) return is_scalar(c) ? Step::kMore : Step::kBefore;
  if (c == '"') is_string_ = true;
  if (c == '{' || c == '[') ++depth_;
  if (c == '}' || c == ']') --depth_;
  return depth_ == 0 ? Step::kLast : Step::kMore;
}

JsonObjectReader::Step JsonObjectReader::read(char c) {
  switch (state_) {
    case State::kOpen:
      if (is_space(c)) return Step::kNone;
      state_ = State::kKeyOrEnd;
      return c == '{' ? Step::kNone : Step::kBad;
    case State::kKeyOrEnd:
    case State::kBeforeKey:
      if (is_space(c)) return Step::kNone;
      if (c == '}') return Step::kEnd;
      if (c != '"') return Step::kBad;
      state_ = State::kKey;
      key_.clear();
      decoder_ = {};
      return Step::kNone;
    case State::kKey:
      if (c == '"' && !decoder_.is_in_escape()) {
        state_ = State::kColon;
      } else {
        decoder_.add(c, key_);
      }
      return Step::kNone;
    case State::kColon:
      if (is_space(c)) return Step::kNone;
      if (c != ':') return Step::kBad;
      state_ = State::kBeforeValue;
      return Step::kNone;
    case State::kBeforeValue:
      if (is_space(c)) return Step::kNone;
      value_ = {};
      state_ = State::kValue;
      return value_.read(c) == JsonValueReader::Step::kBad ? Step::kBad : Step::kFirst;
    case State::kValue: {
      const JsonValueReader::Step step = value_.read(c);
      if (step == JsonValueReader::Step::kMore) return Step::kValue;
      state_ = State::kComma;
      if (step == JsonValueReader::Step::kLast) return Step::kLast;
      break;
    }
    case State::kComma: break;
  }
  if (is_space(c)) return Step::kNone;
  if (c == '}') return Step::kEnd;
  state_ = State::kBeforeKey;
  return c == ',' ? Step::kNone : Step::kBad;
}

JsonArgumentsReader::Step JsonArgumentsReader::read(char c, ArgumentsOut& out) {
  const bool is_first = !has_begun_;
  if (is_first) {
    has_begun_ = true;
    is_string_ = c == '"';
  }
  const Step step = value_.read(c);
  if (step == Step::kBad || step == Step::kBefore) return step;
  if (is_string_) {
    if (is_first || step == Step::kLast) return step;
    std::string decoded;
    decoder_.add(c, decoded);
    out.raw(decoded);
    return step;
  }
  if (!out.is_custom()) {
    out.raw({&c, 1});
    return step;
  }
  const JsonObjectReader::Step member = members_.read(c);
  if (member == JsonObjectReader::Step::kFirst) {
    is_input_string_ = c == '"' && members_.key() == kCustomInput;
    decoder_ = {};
  } else if (member == JsonObjectReader::Step::kValue && is_input_string_) {
    std::string decoded;
    decoder_.add(c, decoded);
    out.raw(decoded);
  }
  return step;
}

}  // namespace ingot
