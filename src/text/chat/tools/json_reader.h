// JSON byte by byte: values, objects, and a call's arguments as JSON.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "text/chat/tools/arguments_out.h"

namespace ingot {

/// Reads a JSON value and checks it. It forgives control characters in strings.
class JsonValueReader {
 public:
  enum class Step {
    kMore,
    kLast,    ///< the byte is the value's last
    kBefore,  ///< the value, a number, ended before the byte
    kBad,     ///< no JSON
  };
  /// Reads a byte. The first may not be white space.
  Step read(char c);
  /// Whether the bytes so far are a whole value.
  bool is_complete() const { return open_.empty() && (state_ == State::kEnd || ends_number()); }
  /// Whether the next byte stands in a string, and not in an escape.
  bool is_in_string() const { return state_ == State::kString; }

 private:
  enum class State {
    kValue,       // before a value
    kFirstValue,  // behind '['
    kFirstKey,    // behind '{'
    kKey,         // before a key
    kColon,       // behind a key
    kBehind,      // behind a value
    kString,      // in a string
    kEscape,      // behind a backslash
    kHex,         // in the digits of an escape
    kWord,        // in true, false or null
    kMinus,
    kZero,
    kInteger,
    kPoint,
    kFraction,
    kExponent,
    kSign,
    kPower,  // in a number
    kEnd,
  };

  Step begin_value(char c);
  Step begin_string(bool is_key);
  Step end_value();
  Step close(char open);
  Step behind(char c);
  Step in_string(char c);
  Step in_number(char c);
  bool ends_number() const {
    return state_ == State::kZero || state_ == State::kInteger || state_ == State::kFraction ||
           state_ == State::kPower;
  }
  Step go(State state) {
    state_ = state;
    return Step::kMore;
  }

  State state_ = State::kValue;
  std::string open_{};       ///< brackets that are open
  bool is_key_ = false;      ///< the string is a key
  int digits_ = 0;           ///< digits that an escape misses
  std::string_view word_{};  ///< the rest of a word
};

/// Reads an object's members.
class JsonObjectReader {
 public:
  enum class Step {
    kNone,
    kFirst,  ///< the first byte of a value
    kValue,  ///< a later byte of a value
    kLast,   ///< the last byte of a value
    kEnd,    ///< the object's closing brace
    kBad,    ///< no JSON
  };
  Step read(char c);
  /// The last key that was read, decoded.
  const std::string& key() const { return key_; }
  /// Whether the next byte stands in a key.
  bool is_in_key() const { return state_ == State::kKey; }

 private:
  enum class State { kOpen, kKeyOrEnd, kKey, kColon, kBeforeValue, kValue, kComma, kBeforeKey };
  State state_ = State::kOpen;
  std::string key_{};
  StringDecoder decoder_{};
  JsonValueReader value_{};
};

/// Reads a call's arguments: a JSON value that goes to `out` as it is, except for control
/// characters in strings, which become escapes; a string's contents, decoded; for custom tools, the
/// member "input".
class JsonArgumentsReader {
 public:
  using Step = JsonValueReader::Step;
  Step read(char c, ArgumentsOut& out);

 private:
  bool has_begun_ = false;
  bool is_string_ = false;
  JsonValueReader value_{};
  JsonObjectReader members_{};
  StringDecoder decoder_{};
  bool is_input_string_ = false;
};

}  // namespace ingot
