// RepeatHistory and each_repeat: find tokens that would extend a repetition, for DRY.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/index.h"

namespace ingot {

class Tokenizer;

/// Limit on the tokens of a repetition. Longer repetitions count as this long.
inline constexpr std::int64_t kRepeatMax = 50;
/// Stands in a history for a token at which a sequence breaker ends.
inline constexpr std::int32_t kBreakerToken = -1;

/// The tokens of a sequence, with kBreakerToken for each token at which a sequence breaker ends.
///
/// A token is a breaker if a breaker's text occurs in the decoded bytes of the sequence, and the
/// occurrence's last byte belongs to this token. So a breaker may lie within one token or span
/// several.
class RepeatHistory {
 public:
  /// `breakers` are texts of 1 to kBreakerBytesMax bytes. Without a tokenizer (null), no token is a
  /// breaker. Both must outlive this object.
  RepeatHistory(std::span<const std::string> breakers, const Tokenizer* tokenizer)
      : breakers_(breakers), tokenizer_(tokenizer) {}

  /// Reserves memory for a total of `tokens` tokens, so that `add` allocates none for them. A copy
  /// has no reserved memory.
  void reserve(std::size_t tokens);
  /// Adds a token. A negative `id` stands for an embedding: a repetition's end.
  void add(std::int32_t id);
  /// Returns the last `count` tokens, or all if there are fewer or `count` is -1.
  std::span<const std::int32_t> last(std::int64_t count) const;

 private:
  bool ends_breaker(std::int32_t id);

  std::span<const std::string> breakers_;
  const Tokenizer* tokenizer_;
  std::vector<std::int32_t> tokens_;
  std::string text_;  ///< the last bytes of the sequence, in which a breaker may begin
};

/// Calls use(id, length) for each earlier occurrence of the last `length` tokens. `id` is the token
/// behind the occurrence. `length` is at least `least` and at most kRepeatMax. No repetition
/// contains a breaker. Takes linear time, by the Z-algorithm over the reversed tokens.
template <class Use>
void each_repeat(std::span<const std::int32_t> tokens, std::int64_t least, Use use) {
  const auto count = std::ssize(tokens);
  const auto back = [&](std::int64_t i) { return at(tokens, count - 1 - i); };
  std::int64_t most = 0;  // number of tokens behind the last breaker
  while (most < std::min(count, kRepeatMax) && back(most) != kBreakerToken) ++most;
  if (most < least) return;
  std::array<std::int64_t, to_size(kRepeatMax)> lengths{};  // lengths[i]: repetition i tokens back
  std::int64_t left = 0;   // the repetition that reaches furthest back: from `left`
  std::int64_t right = 0;  // to `right`
  for (std::int64_t i = 1; i < count; ++i) {
    std::int64_t length = i < right ? std::min(at(lengths, i - left), right - i) : 0;
    while (length < most && i + length < count && back(i + length) == back(length)) ++length;
    if (i + length > right) {
      left = i;
      right = i + length;
    }
    if (i < kRepeatMax) at(lengths, i) = length;
    if (length >= least && back(i - 1) != kBreakerToken) use(back(i - 1), length);
  }
}

}  // namespace ingot
