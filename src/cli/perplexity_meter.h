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

/// Cuts a text into windows of equal length. Drops the last tokens if they do not fill a window.
class TextWindows {
 public:
  /// `tokens`: the text's length in tokens. `context`: a window's tokens, including BOS if `bos`.
  /// Windows begin `stride` tokens apart (0: no overlap). A window scores no token a second time.
  /// Errors: Error{kInvalid} that names --ctx or --stride, also if the text is too short.
  TextWindows(std::int64_t tokens, std::int64_t context, bool bos, std::int64_t stride);

  std::int64_t count() const { return count_; }
  /// Returns window `i`. Without BOS, the text's first token has no score: no token predicts it.
  ScoredWindow operator[](std::int64_t i) const;

 private:
  std::int64_t length_ = 0;  ///< number of the text's tokens in a window, without BOS
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
  /// Returns the standard error of `value`: `value` times the standard error of the mean negative
  /// log-probability (first order). Returns NaN for fewer than two tokens.
  double standard_error() const;

 private:
  std::int64_t tokens_ = 0;
  double mean_ = 0;
  double squares_ = 0;  ///< sum of squared differences of negative log-probabilities from `mean_`
};

}  // namespace ingot
