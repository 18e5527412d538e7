// ReasoningWatch: counts the tokens of a reply's reasoning block, and closes the block in time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/request.h"

namespace ingot {

/// Follows one reply through its reasoning block. When the block has as many tokens as the budget
/// allows, the tokens of ReasoningBudget::close must follow one by one.
class ReasoningWatch {
 public:
  /// `budget` must have a limit, and must outlive this object.
  explicit ReasoningWatch(const ReasoningBudget& budget);

  /// Adds the reply's next token, which became `text`.
  void add(std::int32_t id, std::string_view text);
  /// Returns the token that must follow now; -1: any.
  std::int32_t forced() const;
  /// Tells the watch that the token of `forced` may not follow here. It waits with the first token
  /// of `close`, but omits the rest of a `close` that has begun.
  void refuse_forced() {
    if (closed_ > 0) stop();
  }
  /// Returns whether `forced` may still return a token.
  bool may_force() const { return state_ != State::kOutside; }

 private:
  enum class State { kStart, kInside, kOutside };

  void stop();
  void begin(std::string_view text);
  void look_for_end(std::string_view text);

  const ReasoningBudget* budget_;
  State state_;
  std::int64_t tokens_ = 0;  ///< number of tokens inside the block
  std::size_t closed_ = 0;   ///< number of tokens of `close` that followed
  std::string held_;         ///< the end of the text, which may be part of a tag
};

}  // namespace ingot
