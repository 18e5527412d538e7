// Perplexity: cuts a text into windows to score, and computes perplexity and its standard error.
#pragma once

#include <cstdint>

namespace ingot {

/// Tokens [begin, end) of a text, run as one sequence. Only tokens [scored, end) are scored.
struct ScoredWindow {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t scored = 0;
};

/// A text cut into windows of equal length. Drops tokens at its end that do not fill a window.
class TextWindows {
 public:
  /// Units:  tokens; `context` is a window's length, including a BOS token if `bos`. Windows begin
  ///         `stride` apart (0: without overlap), and each scores the tokens that are new in it.
  /// Errors: Error{kInvalid} that names --ctx or --stride, also if the text is too short.
  TextWindows(std::int64_t tokens, std::int64_t context, bool bos, std::int64_t stride);

  std::int64_t count() const { return count_; }
  /// Window `i`. Without BOS, the text's first token is not scored, since no token predicts it.
  ScoredWindow operator[](std::int64_t i) const;

 private:
  std::int64_t length_ = 0;  ///< tokens of a window, without BOS
  std::int64_t stride_ = 0;
  std::int64_t count_ = 0;
  bool bos_ = false;
};

/// Computes the perplexity of tokens from their log-probabilities.
class Perplexity {
 public:
  void add(double logprob);

  std::int64_t tokens() const { return tokens_; }
  double value() const;
  /// The standard error of `value`: the standard error of the mean, propagated through exp to first
  /// order. NaN with fewer than two tokens.
  double standard_error() const;

 private:
  std::int64_t tokens_ = 0;
  double mean_ = 0;
  double squares_ = 0;  ///< sum of squared differences from the mean
};

}  // namespace ingot
