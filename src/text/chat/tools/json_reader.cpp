// JSON readers: state machines over bytes.
#include "text/chat/tools/json_reader.h"

#include "text/chat/tools/call_syntax.h"

namespace ingot {

namespace {

bool is_json_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_json_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

}  // namespace

JsonValueReader::Step JsonValueReader::read(char c) {
  if (state_ == State::kString || state_ == State::kEscape || state_ == State::kHex) {
    return in_string(c);
  }
  if (state_ >= State::kMinus && state_ <= State::kPower) return in_number(c);
  if (state_ == State::kWord) {
    if (c != word_.front()) return Step::kBad;
    word_.remove_prefix(1);
    return word_.empty() ? end_value() : Step::kMore;
  }
  if (!open_.empty() && is_space(c)) return Step::kMore;
  switch (state_) {
    case State::kFirstValue:
      return c == ']' ? close('[') : begin_value(c);
    case State::kFirstKey:
      if (c == '}') return close('{');
      return c == '"' ? begin_string(true) : Step::kBad;
    case State::kKey:
      return c == '"' ? begin_string(true) : Step::kBad;
    case State::kColon:
      return c == ':' ? go(State::kValue) : Step::kBad;
    case State::kBehind:
      return behind(c);
    case State::kValue:
      return begin_value(c);
    default:
      return Step::kBad;
  }
}

JsonValueReader::Step JsonValueReader::begin_value(char c) {
  if (c == '"') return begin_string(false);
  if (c == '{' || c == '[') {
    open_ += c;
    return go(c == '{' ? State::kFirstKey : State::kFirstValue);
  }
  if (c == '-') return go(State::kMinus);
  if (is_json_digit(c)) return go(c == '0' ? State::kZero : State::kInteger);
  for (const std::string_view word : {"true", "false", "null"}) {
    if (c != word.front()) continue;
    word_ = word.substr(1);
    return go(State::kWord);
  }
  return Step::kBad;
}

JsonValueReader::Step JsonValueReader::begin_string(bool is_key) {
  is_key_ = is_key;
  return go(State::kString);
}

JsonValueReader::Step JsonValueReader::end_value() {
  state_ = open_.empty() ? State::kEnd : State::kBehind;
  return open_.empty() ? Step::kLast : Step::kMore;
}

JsonValueReader::Step JsonValueReader::close(char open) {
  if (open_.back() != open) return Step::kBad;
  open_.pop_back();
  return end_value();
}

JsonValueReader::Step JsonValueReader::behind(char c) {
  if (c == ',') return go(open_.back() == '{' ? State::kKey : State::kValue);
  if (c == '}' || c == ']') return close(c == '}' ? '{' : '[');
  return Step::kBad;
}

JsonValueReader::Step JsonValueReader::in_string(char c) {
  if (state_ == State::kHex) {
    if (!is_hex(c)) return Step::kBad;
    return --digits_ == 0 ? go(State::kString) : Step::kMore;
  }
  if (state_ == State::kEscape) {
    digits_ = 4;
    if (c == 'u') return go(State::kHex);
    const bool is_known = std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos;
    return is_known ? go(State::kString) : Step::kBad;
  }
  if (c == '\\') return go(State::kEscape);
  if (c != '"') return Step::kMore;
  return is_key_ ? go(State::kColon) : end_value();
}

JsonValueReader::Step JsonValueReader::in_number(char c) {
  if (is_json_digit(c)) {
    switch (state_) {
      case State::kMinus:
        return go(c == '0' ? State::kZero : State::kInteger);
      case State::kZero:
        return Step::kBad;
      case State::kPoint:
        return go(State::kFraction);
      case State::kExponent:
      case State::kSign:
        return go(State::kPower);
      default:
        return Step::kMore;
    }
  }
  const bool is_whole = state_ == State::kZero || state_ == State::kInteger;
  if (c == '.' && is_whole) return go(State::kPoint);
  if ((c == 'e' || c == 'E') && (is_whole || state_ == State::kFraction)) {
    return go(State::kExponent);
  }
  if ((c == '-' || c == '+') && state_ == State::kExponent) return go(State::kSign);
  if (!ends_number()) return Step::kBad;
  if (open_.empty()) {
    state_ = State::kEnd;
    return Step::kBefore;
  }
  state_ = State::kBehind;
  return is_space(c) ? Step::kMore : behind(c);
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
      if (step == JsonValueReader::Step::kBad) return Step::kBad;
      state_ = State::kComma;
      if (step == JsonValueReader::Step::kLast) return Step::kLast;
      break;
    }
    case State::kComma:
      break;
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
  const bool is_control = static_cast<unsigned char>(c) < 0x20 && value_.is_in_string();
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
    if (is_control) {
      out.string_bytes({&c, 1});
    } else {
      out.raw({&c, 1});
    }
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
