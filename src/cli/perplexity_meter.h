// Perplexity: cuts a text into windows to score, and computes perplexity and its standard error.
#pragma once

#include <cstdint>

namespace ingot {

/// How a text is cut into windows and which of their tokens are scored.
enum class PerplexityDefinition {
  /// BOS, if the tokenizer adds it, stands in front of each window, and all new tokens are scored.
  kIngot,
  /// BOS replaces each window's first token, and the second half of the window is scored.
  /// Source: llama.cpp, tools/perplexity/perplexity.cpp, function perplexity.
  kLlamaCpp
};

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
  /// Cuts a text as llama.cpp's tool: `context` tokens a window, without overlap. `tokens` includes
  /// the BOS in front of the text. Errors: those of the other constructor, also for less than two
  /// windows.
  static TextWindows of_llama_cpp(std::int64_t tokens, std::int64_t context);

  std::int64_t count() const { return count_; }
  /// Returns window `i`. Without BOS, the text's first token has no score: no token predicts it.
  ScoredWindow operator[](std::int64_t i) const;

 private:
  TextWindows() = default;

  std::int64_t length_ = 0;  ///< number of the text's tokens in a window, without BOS
  std::int64_t stride_ = 0;
  std::int64_t count_ = 0;
  bool bos_ = false;
  bool scores_half_ = false;  ///< true: only tokens of a window's second half are scored
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
