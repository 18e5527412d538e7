// Perplexity: cuts a text into windows, and keeps mean and variance of negative log-probabilities.
#include "cli/perplexity_meter.h"

#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/error.h"
#include "base/text.h"

namespace ingot {

TextWindows::TextWindows(std::int64_t tokens, std::int64_t context, bool bos, std::int64_t stride)
    : length_(context - (bos ? 1 : 0)), stride_(stride > 0 ? stride : length_), bos_(bos) {
  if (context < 2) {
    throw Error(ErrorCode::kInvalid,
                cat("--ctx ", context, " is too short: a token is scored after another"));
  }
  if (stride_ > length_) {
    throw Error(ErrorCode::kInvalid, cat("--stride ", stride, " leaves tokens out: a window has ",
                                         length_, " of the text"));
  }
  if (tokens < length_) {
    throw Error(ErrorCode::kInvalid, cat("the text has ", tokens, " tokens, a window takes ",
                                         length_, ": --ctx makes it shorter"));
  }
  count_ = (tokens - length_) / stride_ + 1;
}

TextWindows TextWindows::of_llama_cpp(std::int64_t tokens, std::int64_t context) {
  // A window of three tokens is the shortest with a scored one.
  if (context < 3) {
    throw Error(
        ErrorCode::kInvalid,
        cat("--ctx ", context, " is too short: llama.cpp scores the second half of a window"));
  }
  if (tokens / 2 < context) {
    throw Error(ErrorCode::kInvalid, cat("the text has ", tokens, " tokens, llama.cpp takes two ",
                                         "windows of ", context, ": --ctx makes them shorter"));
  }
  TextWindows windows;
  windows.length_ = windows.stride_ = context;
  windows.count_ = tokens / context;
  windows.scores_half_ = true;
  return windows;
}

ScoredWindow TextWindows::operator[](std::int64_t i) const {
  INGOT_CHECK(i >= 0 && i < count_, "window ", i, " of ", count_);
  ScoredWindow window{.begin = i * stride_, .end = i * stride_ + length_, .scored = 0};
  if (scores_half_) {
    window.scored = window.begin + length_ / 2 + 1;
    return window;
  }
  const std::int64_t fresh = i == 0 ? window.begin : window.end - stride_;
  window.scored = bos_ || fresh > window.begin ? fresh : fresh + 1;
  return window;
}

void Perplexity::add(double logprob) {
  // Welford's recurrence: the variance does not suffer from a large mean.
  const double before = -logprob - mean_;
  mean_ += before / static_cast<double>(++tokens_);
  squares_ += before * (-logprob - mean_);
}

double Perplexity::value() const { return std::exp(mean_); }

double Perplexity::standard_error() const {
  if (tokens_ < 2) return std::numeric_limits<double>::quiet_NaN();
  const auto n = static_cast<double>(tokens_);
  return value() * std::sqrt(squares_ / (n - 1) / n);
}

}  // namespace ingot
