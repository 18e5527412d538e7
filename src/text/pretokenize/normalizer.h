// Normalizer: runs a tokenizer's normalisation steps (NFC, lower case, replace, ...) on a text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "load/tokenizer/tokenizer_data.h"
#include "text/pretokenize/charsmap.h"
#include "text/pretokenize/pattern.h"

namespace ingot {

/// A tokenizer's normalisation steps, ready to run. Immutable.
class Normalizer {
 public:
  /// Prepares the steps. Errors: model_error for a malformed pattern or map, or too many steps.
  explicit Normalizer(const TokenizerData& data);

  /// Returns whether there are no steps. `normalize` then leaves every text unchanged.
  bool empty() const { return steps_.empty(); }

  /// Returns `text` after all steps. Invalid UTF-8 stays, unless a step replaces it.
  ///
  /// Cost:    O(n log n) for n bytes.
  /// Errors:  Error{kInvalid} if a step's result exceeds `normalized_bytes_max`.
  std::string normalize(std::string_view text) const;

  /// Returns the largest factor by which the steps can shrink a text; nothing if there is no limit.
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
