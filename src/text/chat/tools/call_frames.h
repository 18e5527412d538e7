// CallFrames: the exact text that a template writes around names and arguments of calls.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/chat/tools/call_body.h"
#include "text/chat/tools/call_syntax.h"

namespace ingot {

/// In frames: stand for a call's id, and for a number that counts calls.
inline constexpr char kIdHole = '\x01';
inline constexpr char kNumberHole = '\x02';
/// Stands for the name of the tool.
inline constexpr char kNameHole = '\x03';

/// The text around calls. A reply's calls: open, call, (between, call)*, close. A call of kObject
/// and kNamed: name, middle, arguments as JSON. A call of the others: name, `middle`
/// (`empty` if there are no arguments), arguments with `value_separator` between. An argument:
/// key_begin, key, key_end, value, `value_end_of`.
struct CallFrames {
  const CallSyntax* syntax = nullptr;
  std::string lead{};  ///< before `open`, in a reply that is a call: white space, a header
  std::string open{};
  std::string middle{};
  std::optional<std::string> between{};  ///< absent: the template writes one call
  std::string close{};
  std::string empty{};
  std::string key_begin{};
  std::string string_key_end{};  ///< before a string
  std::string other_key_end{};   ///< before another value
  std::string value_end{};
  std::string value_separator{};
  std::string quote{};  ///< kLiteral: of strings
};

/// Returns the text behind the value of an argument.
std::string value_end_of(const CallFrames& frames, std::string_view key);

/// A text with calls, and where they stand in it.
struct CallText {
  std::string text;
  std::vector<CallSpan> spans;
  std::vector<std::string> ids;  ///< ids that the text may have
};

/// Learns frames from one or two calls that each have a string and then a number as arguments, and
/// from a call without arguments (except kObject and kNamed). Returns nothing if they do not
/// agree.
std::optional<CallFrames> learn_frames(const CallSyntax& syntax, const CallText& calls,
                                       const CallText* empty);

/// A call as text needs it.
struct CallToWrite {
  std::string name;
  Json arguments;  ///< an object
};
/// Writes calls in frames.
std::string write_calls(const CallFrames& frames, const std::vector<CallToWrite>& calls);

}  // namespace ingot
