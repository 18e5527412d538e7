// BPE over characters. A piece can be a whole text, so it is cut between bytes that no token joins.
#include "text/tokenizer/bpe.h"

#include <optional>
#include <string_view>

#include "base/utf8.h"
#include "text/tokenizer/adjacency.h"
#include "text/tokenizer/byte_tokens.h"
#include "text/tokenizer/merge_table.h"
#include "text/tokenizer/piece_map.h"

namespace ingot {
namespace {

/// A map of tokens by text, without unused ones; includes control tokens only with `control`.
PieceMap map_of(const TokenizerData& data, const StringTable& tokens, bool control) {
  PieceMap ids(tokens, tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const bool is_text = data.types[i] != TokenType::kControl;
    if (data.types[i] != TokenType::kUnused && (is_text || control)) {
      ids.insert(static_cast<std::int32_t>(i));
    }
  }
  return ids;
}

class CharBpe final : public TokenModel {
 public:
  explicit CharBpe(const TokenizerData& data)
      : tokens_(data.tokens),
        ids_(map_of(data, tokens_, false)),
        merges_(data, map_of(data, tokens_, true)),
        byte_ids_(read_byte_ids(data)),
        unknown_(data.unknown),
        fuse_unknown_(data.fuse_unknown),
        ignore_merges_(data.ignore_merges) {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (data.types[i] != TokenType::kByte) adjacency_.add(tokens_[i]);
    }
  }

  void encode(std::string_view piece, ModelScratch& scratch,
              std::vector<std::int32_t>& ids) const override;
  bool is_complete() const override { return byte_ids_.has_value(); }

 private:
  void append_symbols(std::string_view character, std::vector<std::int32_t>& symbols) const;

  StringTable tokens_;
  PieceMap ids_;  // finds an id by the token's text
  MergeTable merges_;
  Adjacency adjacency_;
  std::optional<ByteIds> byte_ids_;
  std::optional<std::int32_t> unknown_;
  bool fuse_unknown_;
  bool ignore_merges_;
};

void CharBpe::append_symbols(std::string_view character, std::vector<std::int32_t>& symbols) const {
  if (const std::int32_t id = ids_.find(character); id >= 0) {
    symbols.push_back(id);
  } else if (byte_ids_) {
    for (const char c : character) symbols.push_back((*byte_ids_)[static_cast<unsigned char>(c)]);
  } else if (unknown_) {
    const bool again = fuse_unknown_ && !symbols.empty() && symbols.back() == *unknown_;
    if (!again) symbols.push_back(*unknown_);
  }
}

void CharBpe::encode(std::string_view piece, ModelScratch& scratch,
                     std::vector<std::int32_t>& ids) const {
  if (ignore_merges_) {
    if (const std::int32_t id = ids_.find(piece); id >= 0) {
      ids.push_back(id);
      return;
    }
  }
  std::vector<std::int32_t>& symbols = scratch.symbols;
  symbols.clear();
  // A part that ends in an unknown character stays open, so that a run of them is fused.
  for (std::size_t at = 0; at < piece.size();) {
    const std::size_t size = utf8_step(piece, at);
    append_symbols(piece.substr(at, size), symbols);
    at += size;
    const bool joined = at < piece.size() && adjacency_.joins(piece[at - 1], piece[at]);
    const bool unknown = unknown_ && !symbols.empty() && symbols.back() == *unknown_;
    if (joined || (unknown && at < piece.size())) continue;
    merges_.merge(symbols, scratch.merger);
    ids.insert(ids.end(), symbols.begin(), symbols.end());
    symbols.clear();
  }
}

}  // namespace

std::unique_ptr<TokenModel> make_char_bpe(const TokenizerData& data) {
  return std::make_unique<CharBpe>(data);
}

}  // namespace ingot
