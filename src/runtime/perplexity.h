// Perplexity: the windows in which a text is scored, and the mean cost of its tokens.
#pragma once

#include <cstdint>

namespace ingot {

/// Tokens [begin, end) of a text as one sequence. The tokens from `scored` on count.
struct ScoredWindow {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t scored = 0;
};

/// A text cut into windows of a context. Tokens at its end that fill no window are dropped.
class TextWindows {
 public:
  /// Units:  tokens; `context` is a window's length with its BOS, if it has one. Each window begins
  ///         `stride` after the one before and scores its new tokens; 0 = no overlap.
  /// Errors: Error{kInvalid} naming --ctx or --stride, also when the text fills no window.
  TextWindows(std::int64_t tokens, std::int64_t context, bool bos, std::int64_t stride);

  std::int64_t count() const { return count_; }
  /// A first token without a BOS before it has nothing to be predicted from, and is not scored.
  ScoredWindow operator[](std::int64_t i) const;

 private:
  std::int64_t length_ = 0;  ///< a window's tokens without its BOS
  std::int64_t stride_ = 0;
  std::int64_t count_ = 0;
  bool bos_ = false;
};

/// The mean negative log-likelihood of tokens, and the perplexity and error that follow from it.
class Perplexity {
 public:
  void add(double logprob);

  std::int64_t tokens() const { return tokens_; }
  double value() const;
  /// The standard error of `value`: that of the mean, propagated through the exponential to first
  /// order. NaN for less than two tokens.
  double standard_error() const;

 private:
  std::int64_t tokens_ = 0;
  double mean_ = 0;
  double squares_ = 0;  ///< sum of squared distances from the mean
};

}  // namespace ingot
