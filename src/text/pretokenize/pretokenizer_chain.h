// A tokenizer's pre-tokenization: the steps of its file, each cutting the pieces of the one before.
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

/// The steps that a description asks for. Immutable.
class PretokenizerChain {
 public:
  /// Errors:  model_error for unknown names, patterns that are malformed, and steps that cannot
  ///          follow each other.
  explicit PretokenizerChain(const TokenizerData& data);

  /// Calls `each` for the pieces of a normalised text, from left to right. `begins_text`: no token
  /// stands before it.
  ///
  /// Cost:    linear in the text for every step, but for regular expressions (see Pattern).
  /// Errors:  those of Pattern::split.
  void split(std::string_view text, bool begins_text, EachPiece each) const {
    split_from(0, text, begins_text, each);
  }

  /// Whether the pieces joined are the text, but for spaces that a step puts in front.
  bool keeps_all() const { return keeps_all_; }

 private:
  enum class Kind : std::uint8_t { kScanner, kPattern, kNamed, kMetaspace, kPrefixSpace };
  struct Step {
    Kind kind{};
    Scanner scanner{};
    std::optional<Pretokenizer> named;
    std::optional<Pattern> pattern;
    SplitBehavior behavior = SplitBehavior::kIsolated;
    bool invert = false;
    PretokenizerStep data;  // of kMetaspace
  };
  void add(const PretokenizerStep& step, const TokenizerData& data);
  void add_behind_bytes(const PretokenizerStep& step, const TokenizerData& data);
  void add_scanner(Scanner scanner, SplitBehavior behavior, bool invert = false);
  void add_pattern(Pattern pattern, SplitBehavior behavior, bool invert);
  Step& add_step(Kind kind);
  void split_from(std::size_t at, std::string_view text, bool begins_text, EachPiece each) const;
  void split_metaspace(std::size_t at, std::string_view text, bool begins_text,
                       EachPiece each) const;

  std::vector<Step> steps_;
  bool byte_level_ = false;
  bool keeps_all_ = true;
};

}  // namespace ingot
