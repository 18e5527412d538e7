// JSON byte by byte: values, objects, and a call's arguments as JSON.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "text/chat/tools/arguments_out.h"

namespace ingot {

/// Finds the end of a JSON value. It checks brackets and strings, not the grammar of JSON.
class JsonValueReader {
 public:
  enum class Step {
    kMore,
    kLast,    ///< the byte is the value's last
    kBefore,  ///< the value ended before the byte
    kBad,     ///< the byte begins no value
  };
  /// Reads a byte. The first may not be white space.
  Step read(char c);

 private:
  bool has_begun_ = false;
  bool is_string_ = false;
  bool is_escape_ = false;
  std::size_t depth_ = 0;
};

/// Reads an object's members.
class JsonObjectReader {
 public:
  enum class Step {
    kNone,
    kFirst,   ///< the first byte of a value
    kValue,   ///< a later byte of a value
    kLast,    ///< the last byte of a value
    kEnd,     ///< the object's closing brace
    kBad,     ///< no JSON
  };
  Step read(char c);
  /// The last key that was read, decoded.
  const std::string& key() const { return key_; }

 private:
  enum class State { kOpen, kKeyOrEnd, kKey, kColon, kBeforeValue, kValue, kComma, kBeforeKey };
  State state_ = State::kOpen;
  std::string key_{};
  StringDecoder decoder_{};
  JsonValueReader value_{};
};

/// Reads a call's arguments: a JSON value that goes to `out` as it is; a string's contents, decoded;
/// for custom tools, the member "input".
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
