// SentencePiece BPE. Pieces and texts have plain spaces in place of U+2581, which takes three times
// the bytes.
#include "text/tokenizer/bpe.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "base/utf8.h"
#include "load/tokenizer/tokenizer_kinds.h"
#include "text/tokenizer/adjacency.h"
#include "text/tokenizer/byte_tokens.h"
#include "text/tokenizer/piece_map.h"
#include "text/tokenizer/symbol_merger.h"
#include "text/tokenizer/vocabulary.h"
#include "text/tokenizer/whole_pieces.h"

namespace ingot {
namespace {

/// Most bytes of a piece that merging can make. A merge costs as much as the piece that it makes.
/// Real pieces have less than 100 bytes.
constexpr std::size_t kMergedBytesMax = 512;

class SentencePieceBpe final : public TokenModel {
 public:
  explicit SentencePieceBpe(const TokenizerData& data)
      : ranks_(rank_scores(data)),
        byte_ids_(read_byte_ids(data)),
        unknown_(data.unknown.value_or(-1)),
        pieces_(mergeable_pieces(data)),
        ids_(pieces_, pieces_.size()),
        whole_pieces_(ids_, pieces_.size()) {
    if (!byte_ids_ && !data.unknown) {
      throw vocabulary_error(data, "neither byte tokens nor an unknown token");
    }
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (data.types[i] != TokenType::kNormal) continue;
      ids_.insert(static_cast<std::int32_t>(i));
      adjacency_.add(pieces_[i]);
      longest_merged_ = std::max(longest_merged_, pieces_[i].size());
    }
  }

  void encode(std::string_view text, ModelScratch& scratch,
              std::vector<std::int32_t>& ids) const override;
  bool is_complete() const override { return byte_ids_.has_value(); }

 private:
  static std::vector<std::uint32_t> rank_scores(const TokenizerData& data);
  static StringTable mergeable_pieces(const TokenizerData& data);
  void merge(std::string_view text, SymbolMerger& merger) const;
  void encode_part(std::string_view text, SymbolMerger& merger, bool& after_unknown,
                   std::vector<std::int32_t>& ids) const;
  void append_unknown(std::string_view symbol, std::vector<std::int32_t>& ids) const;

  std::vector<std::uint32_t> ranks_;  // rank of each score: 0 is the best; equal scores share
  std::optional<ByteIds> byte_ids_;
  std::int32_t unknown_;
  StringTable pieces_;  // by id; empty if merging never makes the piece
  PieceMap ids_;        // finds the pieces that merging can make
  WholePieces whole_pieces_;
  Adjacency adjacency_;  // over these pieces
  std::size_t longest_merged_ = 0;
};

void SentencePieceBpe::encode(std::string_view text, ModelScratch& scratch,
                              std::vector<std::int32_t>& ids) const {
  bool after_unknown = false;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end) {
    end = at + utf8_step(text, at);
    while (end < text.size() && adjacency_.joins(text[end - 1], text[end])) {
      end += utf8_step(text, end);
    }
    encode_part(text.substr(at, end - at), scratch.merger, after_unknown, ids);
  }
}

void SentencePieceBpe::merge(std::string_view text, SymbolMerger& merger) const {
  merger.reset(text.size());
  for (std::size_t at = 0; at < text.size(); at += utf8_step(text, at)) merger.mark(at);
  merger.run(
      [&](std::size_t left, std::size_t, std::size_t end) {
        if (end - left > longest_merged_) return SymbolMerger::kNever;
        const std::int32_t id = ids_.find(text.substr(left, end - left));
        return id < 0 ? SymbolMerger::kNever : at(ranks_, id);
      },
      [](std::size_t, std::uint32_t) {});
}

void SentencePieceBpe::encode_part(std::string_view text, SymbolMerger& merger, bool& after_unknown,
                                   std::vector<std::int32_t>& ids) const {
  const std::int32_t whole = whole_pieces_.find(text, [&](std::int32_t) {
    merge(text, merger);
    return merger.end_of(0) == text.size();
  });
  if (whole >= 0) {
    ids.push_back(whole);
    after_unknown = false;
    return;
  }
  merge(text, merger);
  for (std::size_t at = 0, end = 0; at < text.size(); at = end) {
    end = merger.end_of(at);
    const std::string_view symbol = text.substr(at, end - at);
    const std::int32_t id = ids_.find(symbol);
    if (id >= 0) ids.push_back(id);
    if (id < 0 && !after_unknown) append_unknown(symbol, ids);
    after_unknown = id < 0 && !byte_ids_;
  }
}

void SentencePieceBpe::append_unknown(std::string_view symbol,
                                      std::vector<std::int32_t>& ids) const {
  if (!byte_ids_) {
    ids.push_back(unknown_);
    return;
  }
  for (const char c : symbol) ids.push_back((*byte_ids_)[static_cast<unsigned char>(c)]);
}

/// Ranks of the scores for SymbolMerger, the best is 0. Equal scores share a rank.
std::vector<std::uint32_t> SentencePieceBpe::rank_scores(const TokenizerData& data) {
  if (data.scores.empty()) throw vocabulary_error(data, "sentencepiece bpe without scores");
  std::vector<double> scores = data.scores;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (!std::isfinite(scores[i]))
      throw vocabulary_error(data, cat("score ", i, " is ", scores[i]));
  }
  std::sort(scores.begin(), scores.end(), std::greater<>());
  scores.erase(std::unique(scores.begin(), scores.end()), scores.end());
  std::vector<std::uint32_t> ranks(data.scores.size());
  std::transform(data.scores.begin(), data.scores.end(), ranks.begin(), [&](double score) {
    const auto at = std::lower_bound(scores.begin(), scores.end(), score, std::greater<>());
    return static_cast<std::uint32_t>(at - scores.begin());
  });
  return ranks;
}

StringTable SentencePieceBpe::mergeable_pieces(const TokenizerData& data) {
  StringTable pieces;
  for (std::size_t i = 0; i < data.tokens.size(); ++i) {
    const bool normal = data.types[i] == TokenType::kNormal;
    const std::string text = normal ? without_space_marks(data.tokens[i]) : std::string();
    if (text.size() > kMergedBytesMax) {
      throw vocabulary_error(
          data, cat("token ", i, " has ", text.size(), " bytes, more than ", kMergedBytesMax,
                    ", and is neither control nor user-defined"));
    }
    pieces.add(text);
  }
  return pieces;
}

}  // namespace

std::unique_ptr<TokenModel> make_sentencepiece_bpe(const TokenizerData& data) {
  return std::make_unique<SentencePieceBpe>(data);
}

}  // namespace ingot
