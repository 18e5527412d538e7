// Byte-level BPE from a file's tokens and ranked merges.
#include "text/byte_bpe.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "text/byte_alphabet.h"
#include "text/merge_table.h"
#include "text/normalize.h"
#include "text/piece_map.h"
#include "text/piece_trie.h"
#include "text/pretokenize.h"
#include "text/symbol_merger.h"
#include "text/tokenizer.h"
#include "text/vocabulary.h"

namespace ingot {
namespace {

/// Whether the file holds the token's text as it is and not in the byte alphabet.
bool is_literal(TokenType type) {
  return type == TokenType::kControl || type == TokenType::kUserDefined;
}

class ByteBpe final : public Tokenizer {
 public:
  struct Parts {
    Vocabulary vocabulary;
    Traits traits;
    PieceTrie space_runs;
    Pretokenizer pretokenizer = Pretokenizer::kGpt2;
    MergeTable merges;
    std::array<std::int32_t, 256> byte_ids;
  };
  explicit ByteBpe(Parts parts)
      : Tokenizer(std::move(parts.vocabulary), std::move(parts.traits)),
        space_runs_(std::move(parts.space_runs)),
        pretokenizer_(parts.pretokenizer),
        merges_(std::move(parts.merges)),
        byte_ids_(parts.byte_ids) {
    if (pretokenizer_ == Pretokenizer::kLlama3) index_whole_pieces();
  }

  static std::unique_ptr<Tokenizer> make(const TokenizerData& data,
                                         std::vector<std::string>& warnings);

 private:
  /// Memory that the pieces of one text share.
  struct Scratch {
    std::vector<std::int32_t> symbols;
    SymbolMerger merger;
  };

  void encode_plain(std::string_view text, std::vector<std::int32_t>& ids) const override {
    Scratch scratch;
    PieceFinder finder(space_runs_, text);
    for (std::size_t at = 0; at < text.size();) {
      PieceTrie::Match match;
      const std::size_t found = finder.find(at, match);
      encode_stretch(text.substr(at, found - at), scratch, ids);
      if (match.id >= 0) ids.push_back(match.id);
      at = found + match.size;
    }
  }

  void encode_stretch(std::string_view text, Scratch& scratch,
                      std::vector<std::int32_t>& ids) const {
    std::string normal;
    if (pretokenizer_ == Pretokenizer::kQwen2 && !is_ascii(text)) {
      normal = to_nfc(text);
      text = normal;
    }
    split(pretokenizer_, text, [&](std::string_view piece) { encode_piece(piece, scratch, ids); });
  }

  void encode_piece(std::string_view piece, Scratch& scratch, std::vector<std::int32_t>& ids) const;

  void index_whole_pieces() {
    whole_pieces_.emplace(vocabulary().pieces, vocabulary().pieces.size());
    for (std::int32_t id = 0; id < size(); ++id) {
      if (type(id) == TokenType::kNormal) whole_pieces_->insert(id);
    }
  }

  static bool is_ascii(std::string_view text) {
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  }

  PieceTrie space_runs_;
  Pretokenizer pretokenizer_;
  MergeTable merges_;
  std::array<std::int32_t, 256> byte_ids_;  // -1: the byte has no token
  std::optional<PieceMap> whole_pieces_;    // where a piece that is a token is not merged
};

void ByteBpe::encode_piece(std::string_view piece, Scratch& scratch,
                           std::vector<std::int32_t>& ids) const {
  if (whole_pieces_) {
    if (const std::int32_t id = whole_pieces_->find(piece); id >= 0) {
      ids.push_back(id);
      return;
    }
  }
  std::vector<std::int32_t>& symbols = scratch.symbols;
  symbols.clear();
  for (const char c : piece) {
    const std::int32_t id = byte_ids_[static_cast<unsigned char>(c)];
    if (id >= 0) symbols.push_back(id);
  }
  if (symbols.size() < 2) {
    ids.insert(ids.end(), symbols.begin(), symbols.end());
    return;
  }
  SymbolMerger& merger = scratch.merger;
  merger.reset(symbols.size());
  for (std::size_t i = 0; i < symbols.size(); ++i) merger.mark(i);
  merger.run([&](std::size_t left, std::size_t right,
                 std::size_t) { return merges_.rank(symbols[left], symbols[right]); },
             [&](std::size_t left, std::uint32_t rank) { symbols[left] = merges_.merged(rank); });
  for (std::size_t at = 0; at < symbols.size(); at = merger.end_of(at)) ids.push_back(symbols[at]);
}

Pretokenizer pretokenizer_of(const TokenizerData& data, std::vector<std::string>& warnings) {
  if (!data.pre) {
    warnings.push_back(cat(printable(data.file), ": no tokenizer.ggml.pre, using gpt-2"));
    return Pretokenizer::kGpt2;
  }
  const auto known = find_pretokenizer(*data.pre);
  if (!known) {
    throw vocabulary_error(data,
                           cat("tokenizer.ggml.pre '", printable(*data.pre),
                               "' is not supported for byte-level bpe; supported: default, gpt-2, "
                               "llama-bpe, llama3, llama-v3, qwen2"));
  }
  return *known;
}

std::unique_ptr<Tokenizer> ByteBpe::make(const TokenizerData& data,
                                         std::vector<std::string>& warnings) {
  const Pretokenizer pretokenizer = pretokenizer_of(data, warnings);
  Vocabulary v = read_vocabulary(data);
  // Llama 3's files often do not say that a text starts with BOS.
  v.add_bos = data.add_bos.value_or(pretokenizer == Pretokenizer::kLlama3);
  PieceMap ids(data.tokens, data.tokens.size());
  std::vector<TrieEntry> special;
  std::vector<TrieEntry> user_defined;
  std::vector<TrieEntry> space_runs;
  for (std::size_t i = 0; i < data.tokens.size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    const std::string_view text = data.tokens[i];
    const std::optional<std::string> bytes =
        is_literal(v.types[i]) ? std::nullopt : letters_to_bytes(text);
    v.pieces.add(bytes ? std::string_view(*bytes) : text);
    ids.insert(id);
    if (is_literal(v.types[i])) special.push_back({text, id});
    if (v.types[i] != TokenType::kUserDefined) continue;
    user_defined.push_back({text, id});
    if (text.find_first_not_of(' ') == std::string_view::npos) space_runs.push_back({text, id});
  }
  std::array<std::int32_t, 256> byte_ids;
  int missing = 0;
  for (std::size_t b = 0; b < 256; ++b) {
    std::string letter;
    append_utf8(letter, byte_to_letter(static_cast<std::uint8_t>(b)));
    byte_ids[b] = ids.find(letter);
    if (byte_ids[b] < 0) ++missing;
  }
  if (missing > 0) {
    warnings.push_back(
        cat(printable(data.file), ": ", missing, " of 256 bytes have no token and are left out"));
  }
  Traits traits = {.special = PieceTrie(std::move(special)),
                   .user_defined = PieceTrie(std::move(user_defined))};
  // Composing makes UTF-8 at most three times shorter (Unicode's FAQ on normalisation).
  if (pretokenizer == Pretokenizer::kQwen2) traits.shrink_max = 3;
  if (missing > 0) traits.shrink_max = 0;
  return std::make_unique<ByteBpe>(Parts{std::move(v), std::move(traits),
                                         PieceTrie(std::move(space_runs)), pretokenizer,
                                         MergeTable(data, ids), byte_ids});
}

}  // namespace

std::unique_ptr<Tokenizer> make_byte_bpe(const TokenizerData& data,
                                         std::vector<std::string>& warnings) {
  return ByteBpe::make(data, warnings);
}

}  // namespace ingot
