// Byte-level BPE: merges the bytes of a piece by ranked merges.
#include "text/tokenizer/bpe.h"

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "text/tokenizer/byte_alphabet.h"
#include "text/tokenizer/merge_table.h"
#include "text/tokenizer/piece_map.h"
#include "text/tokenizer/vocabulary.h"
#include "text/tokenizer/whole_pieces.h"

namespace ingot {
namespace {

/// The bytes that each normal token stands for; empty for other tokens.
StringTable bytes_of(const TokenizerData& data) {
  StringTable all;
  for (std::size_t i = 0; i < data.tokens.size(); ++i) {
    const bool normal = data.types[i] == TokenType::kNormal;
    const auto bytes = normal ? letters_to_bytes(data.tokens[i]) : std::nullopt;
    all.add(bytes ? std::string_view(*bytes) : std::string_view());
  }
  return all;
}

class ByteBpe final : public TokenModel {
 public:
  ByteBpe(const TokenizerData& data, const PieceMap& ids)
      : merges_(data, ids),
        unknown_(data.unknown.value_or(-1)),
        fuse_unknown_(data.fuse_unknown),
        ignore_merges_(data.ignore_merges),
        bytes_(bytes_of(data)),
        ids_(bytes_, bytes_.size()),
        whole_pieces_(ids_, bytes_.size()) {
    for (std::size_t b = 0; b < 256; ++b) {
      std::string letter;
      append_utf8(letter, byte_to_letter(static_cast<std::uint8_t>(b)));
      byte_ids_[b] = ids.find(letter);
      if (byte_ids_[b] >= 0) continue;
      byte_ids_[b] = unknown_;
      ++missing_;
    }
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      if (!bytes_[i].empty()) ids_.insert(static_cast<std::int32_t>(i));
    }
  }

  int missing() const { return missing_; }
  bool is_complete() const override { return missing_ == 0; }

  void encode(std::string_view piece, ModelScratch& scratch,
              std::vector<std::int32_t>& ids) const override;

 private:
  void merge(std::string_view piece, ModelScratch& scratch) const;

  MergeTable merges_;
  std::array<std::int32_t, 256> byte_ids_{};  // -1: the byte has no token
  std::int32_t unknown_;                      // -1: no unknown token
  bool fuse_unknown_;
  int missing_ = 0;
  bool ignore_merges_;
  StringTable bytes_;  // bytes of each normal token; empty for other tokens
  PieceMap ids_;       // finds an id by its bytes_
  WholePieces whole_pieces_;
};

/// Sets `scratch.symbols` to the tokens to which the bytes of `piece` merge.
void ByteBpe::merge(std::string_view piece, ModelScratch& scratch) const {
  std::vector<std::int32_t>& symbols = scratch.symbols;
  symbols.clear();
  for (const char c : piece) {
    const std::int32_t id = byte_ids_[static_cast<unsigned char>(c)];
    const bool again = fuse_unknown_ && id == unknown_ && !symbols.empty() && symbols.back() == id;
    if (id >= 0 && !again) symbols.push_back(id);
  }
  merges_.merge(symbols, scratch.merger);
}

void ByteBpe::encode(std::string_view piece, ModelScratch& scratch,
                     std::vector<std::int32_t>& ids) const {
  const std::int32_t whole = whole_pieces_.find(piece, [&](std::int32_t id) {
    if (ignore_merges_) return true;
    merge(piece, scratch);
    return scratch.symbols.size() == 1 && scratch.symbols.front() == id;
  });
  if (whole >= 0) {
    ids.push_back(whole);
    return;
  }
  merge(piece, scratch);
  ids.insert(ids.end(), scratch.symbols.begin(), scratch.symbols.end());
}

}  // namespace

std::unique_ptr<TokenModel> make_byte_bpe(const TokenizerData& data,
                                          std::vector<std::string>& details) {
  PieceMap ids(data.tokens, data.tokens.size());
  for (std::size_t i = 0; i < data.tokens.size(); ++i) ids.insert(static_cast<std::int32_t>(i));
  auto model = std::make_unique<ByteBpe>(data, ids);
  if (model->missing() > 0) {
    details.push_back(cat(printable(data.file), ": ", model->missing(),
                          " bytes (of 256) have no token and ",
                          data.unknown ? "become unknown" : "are left out"));
  }
  return model;
}

}  // namespace ingot
