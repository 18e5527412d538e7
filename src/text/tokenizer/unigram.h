// Unigram tokenizer: segments a text into the pieces with the best sum of scores.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "load/tokenizer/tokenizer_data.h"
#include "text/tokenizer/prefix_trie.h"
#include "text/tokenizer/token_model.h"

namespace ingot {

/// Limit on the bytes of a piece. Encoding needs at most this many steps per byte of text.
/// SentencePiece makes pieces of up to 64 bytes.
constexpr std::size_t kUnigramPieceBytesMax = 512;
/// Limit on a score's absolute value, so that no sum overflows. Real values are below 100.
constexpr double kUnigramScoreMax = 1e30;

/// A token model that cuts a text into the pieces with the best sum of scores. Immutable.
///
/// Source:  Kudo, arXiv:1804.10959. Ties and the penalty of unknown characters: Hugging Face's
///          tokenizers and SentencePiece's EncodeOptimized.
class Unigram final : public TokenModel {
 public:
  struct Settings {
    std::optional<std::int32_t> unknown = std::nullopt;
    /// Byte tokens for unknown characters. If absent, a run of such characters becomes `unknown`.
    std::optional<std::array<std::int32_t, 256>> byte_ids = std::nullopt;
  };
  /// `pieces` are spelled as in normalised text. If `types` is not empty, the model uses only
  /// pieces of type kNormal or kUserDefined. It prefers a user-defined piece to that piece's parts.
  ///
  /// Errors:  model_error(file, ...) for scores that are not finite or too large, unequal numbers
  ///          of scores and pieces, pieces that are too long, an unknown id outside the vocabulary,
  ///          or neither an unknown token nor byte tokens.
  Unigram(const StringTable& pieces, std::span<const double> scores,
          std::span<const TokenType> types, const Settings& settings, std::string_view file);

  /// Appends the tokens of a normalised text to `ids`. An ill-formed byte is an unknown character.
  ///
  /// Cost:    O(n) for n bytes of text; 20 bytes of memory per byte.
  void encode(std::string_view text, ModelScratch&, std::vector<std::int32_t>& ids) const override;
  bool is_complete() const override { return settings_.byte_ids.has_value(); }

 private:
  /// The best segmentation of the text up to one place: its score and its last piece.
  struct Node {
    double score = 0;
    std::int32_t id = kUnreached;
    std::uint32_t begin = 0;
  };
  static constexpr std::int32_t kUnreached = -2;
  static constexpr std::int32_t kUnknown = -1;

  void check(const StringTable& pieces, std::span<const double> scores,
             std::span<const TokenType> types, std::string_view file) const;
  std::vector<Node> best_paths(std::string_view text) const;
  void append(std::string_view text, const std::vector<Node>& best,
              std::vector<std::int32_t>& ids) const;

  PrefixTrie trie_;
  std::vector<double> scores_;  // score of each piece, by id
  double unknown_score_ = 0;
  Settings settings_;
};

}  // namespace ingot
