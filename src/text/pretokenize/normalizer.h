// A tokenizer's normalisation: the steps of its file, one after the other.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "load/tokenizer/tokenizer_data.h"
#include "text/pretokenize/charsmap.h"
#include "text/pretokenize/pattern.h"

namespace ingot {

/// The steps that a description asks for. Immutable.
class Normalizer {
 public:
  /// Errors:  model_error for patterns and maps that are malformed, and too many steps.
  explicit Normalizer(const TokenizerData& data);

  /// Whether it leaves every text as it is.
  bool empty() const { return steps_.empty(); }

  /// A text as the model sees it; bytes that are not valid UTF-8 go through where no step looks for
  /// them.
  ///
  /// Cost:    O(n log n).
  /// Errors:  Error{kInvalid} when a step makes more of the text than normalized_bytes_max allows.
  std::string normalize(std::string_view text) const;

  /// By how much it can shrink a text at most; nothing when it can take away any part of it.
  std::optional<std::size_t> shrink_max() const;

 private:
  struct Step {
    NormalizerStep data;
    std::optional<Pattern> pattern;
    Charsmap charsmap;
  };
  std::string apply(const Step& step, std::string_view text, std::size_t bytes_max) const;

  std::vector<Step> steps_;
};

}  // namespace ingot
