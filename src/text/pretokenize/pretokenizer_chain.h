// PretokenizerChain: runs a tokenizer's pre-tokenization steps, which cut a text into pieces.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "load/tokenizer/tokenizer_data.h"
#include "text/pretokenize/pattern.h"
#include "text/pretokenize/pretokenize.h"
#include "text/pretokenize/split.h"

namespace ingot {

/// A tokenizer's pre-tokenization steps. Each step cuts the previous step's pieces. Immutable.
class PretokenizerChain {
 public:
  /// Reads the steps. Errors: model_error for unknown names, bad patterns or an unsupported order.
  explicit PretokenizerChain(const TokenizerData& data);

  /// Calls `each` for the pieces of a normalised text from left to right. `begins_text` is true if
  /// the text begins the input, with no added token in front.
  ///
  /// Cost:    linear in the text for every step, except regular expressions (see Pattern).
  /// Errors:  those of Pattern::split.
  void split(std::string_view text, bool begins_text, EachPiece each) const {
    split_from(0, text, begins_text, each);
  }

  /// Returns whether every step keeps all text. The joined pieces may still have added spaces.
  bool keeps_all() const { return keeps_all_; }

 private:
  enum class Kind : std::uint8_t { kScanner, kPattern, kMetaspace, kPrefixSpace };
  struct Step {
    Kind kind{};
    Scanner scanner{};
    std::optional<Pattern> pattern;
    SplitBehavior behavior = SplitBehavior::kIsolated;
    bool invert = false;
    PretokenizerStep data;  // settings of the step; only kMetaspace uses them
  };
  void add(const PretokenizerStep& step, const TokenizerData& data);
  void add_behind_bytes(const PretokenizerStep& step, const TokenizerData& data);
  void add_scanner(Scanner scanner, SplitBehavior behavior, bool invert = false);
  void add_pattern(Pattern pattern, SplitBehavior behavior, bool invert);
  Step& add_step(Kind kind);
  Step& add_cut(Kind kind, SplitBehavior behavior, bool invert);
  void split_from(std::size_t at, std::string_view text, bool begins_text, EachPiece each) const;
  void split_metaspace(std::size_t at, std::string_view text, bool begins_text,
                       EachPiece each) const;

  std::vector<Step> steps_;
  bool byte_level_ = false;
  bool keeps_all_ = true;
};

}  // namespace ingot
