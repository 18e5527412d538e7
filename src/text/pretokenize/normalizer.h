// Normalizer: runs the normalisation steps of a tokenizer's file in order.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "load/tokenizer/tokenizer_data.h"
#include "text/pretokenize/charsmap.h"
#include "text/pretokenize/pattern.h"

namespace ingot {

/// The normalisation steps of a description. Immutable.
class Normalizer {
 public:
  /// Errors:  model_error for patterns and maps that are malformed, and too many steps.
  explicit Normalizer(const TokenizerData& data);

  /// Whether it leaves every text unchanged.
  bool empty() const { return steps_.empty(); }

  /// The text that the model sees. Invalid UTF-8 passes through unless a step handles it.
  ///
  /// Cost:    O(n log n).
  /// Errors:  Error{kInvalid} when a step's result exceeds normalized_bytes_max.
  std::string normalize(std::string_view text) const;

  /// The largest factor by which it shrinks a text; nothing when a step can remove any part.
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
