// ReplyParser: splits a reply, as it is streamed, into reasoning, content and calls of tools.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// A part of a reply.
struct ReplyEvent {
  enum class Kind {
    kReasoning,      ///< `text` is reasoning
    kContent,        ///< `text` is content
    kCallBegin,      ///< call number `call` begins; `text` is the tool's name
    kCallArguments,  ///< `text` continues the arguments: JSON, or the text of a custom tool
    kCallEnd,        ///< the call is complete
  };
  Kind kind = Kind::kContent;
  std::string text{};
  std::size_t call = 0;  ///< number of the call in the reply, from 0
};

/// Parses one reply. Its events are those of the whole text, whatever the pieces: joined texts of a
/// kind and order of kinds do not depend on where pieces end. No byte waits longer than it must.
class ReplyParser {
 public:
  virtual ~ReplyParser() = default;
  /// Adds a piece of the text. Appends the parts that are certain now to `events`.
  virtual void add(std::string_view piece, std::vector<ReplyEvent>& events) = 0;
  /// Ends the text. Text that was held back becomes content, or stays an unfinished call: then no
  /// kCallEnd follows its kCallBegin.
  virtual void finish(std::vector<ReplyEvent>& events) = 0;
  /// Whether the next text is reasoning, as far as is known.
  virtual bool is_in_reasoning() const = 0;
  /// Whether a call has begun and is not complete.
  virtual bool is_in_call() const = 0;
};

}  // namespace ingot
