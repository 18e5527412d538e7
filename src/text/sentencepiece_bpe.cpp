// SentencePiece BPE. Pieces and texts are held with plain spaces in place of U+2581, a third of the
// bytes.
#include "text/sentencepiece_bpe.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "text/adjacency.h"
#include "text/piece_map.h"
#include "text/piece_trie.h"
#include "text/symbol_merger.h"
#include "text/tokenizer.h"
#include "text/vocabulary.h"

namespace ingot {
namespace {

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581
constexpr std::string_view kUnknownText =
    " \xE2\x81\x87 ";  // what SentencePiece decodes an unknown token to

/// Most bytes of a piece that merging can make, for each merge costs as much as the piece it makes;
/// real ones have less than 100.
constexpr std::size_t kMergedBytesMax = 512;

using ByteIds = std::array<std::int32_t, 256>;

/// Bytes of the character at `at`; a byte that is not valid UTF-8 is one.
std::size_t char_size(std::string_view text, std::size_t at) {
  if (static_cast<unsigned char>(text[at]) < 0x80) return 1;
  const Utf8Char step = decode_utf8(text.substr(at));
  return step.valid ? step.size : 1;
}

/// Appends `text` with spaces for U+2581.
void append_unmarked(std::string& out, std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t mark = std::min(text.find(kSpaceMark, at), text.size());
    out += text.substr(at, mark - at);
    if (mark < text.size()) out += ' ';
    at = mark + kSpaceMark.size();
  }
}

/// The byte of "<0xHH>", upper case as SentencePiece writes it, or nothing.
std::optional<std::uint8_t> byte_of(std::string_view piece) {
  if (piece.size() != 6 || piece.substr(0, 3) != "<0x" || piece[5] != '>') return std::nullopt;
  unsigned value = 0;
  for (const char c : piece.substr(3, 2)) {
    if (c >= '0' && c <= '9') {
      value = value * 16 + static_cast<unsigned>(c - '0');
    } else if (c >= 'A' && c <= 'F') {
      value = value * 16 + static_cast<unsigned>(c - 'A') + 10;
    } else {
      return std::nullopt;
    }
  }
  return static_cast<std::uint8_t>(value);
}

class SentencePieceBpe final : public Tokenizer {
 public:
  struct Parts {
    Vocabulary vocabulary;
    Traits traits;
    PieceTrie user_defined;
    std::vector<std::uint32_t> ranks;
    std::optional<ByteIds> byte_ids;
    bool squeeze_spaces = false;
  };
  explicit SentencePieceBpe(Parts parts)
      : Tokenizer(std::move(parts.vocabulary), std::move(parts.traits)),
        user_defined_(std::move(parts.user_defined)),
        ranks_(std::move(parts.ranks)),
        byte_ids_(parts.byte_ids),
        squeeze_spaces_(parts.squeeze_spaces),
        ids_(vocabulary().pieces, vocabulary().pieces.size()) {
    // No user-defined piece is in a text that is merged: they are taken out before.
    for (std::int32_t id = 0; id < size(); ++id) {
      if (type(id) != TokenType::kNormal) continue;
      ids_.insert(id);
      adjacency_.add(piece(id));
      longest_merged_ = std::max(longest_merged_, piece(id).size());
    }
  }

  static std::unique_ptr<Tokenizer> make(const TokenizerData& data,
                                         std::vector<std::string>& warnings);

 private:
  void encode_plain(std::string_view text, std::vector<std::int32_t>& ids) const override;
  std::string normalise(std::string_view text) const;
  void encode_stretch(std::string_view text, SymbolMerger& merger,
                      std::vector<std::int32_t>& ids) const;
  void encode_part(std::string_view text, SymbolMerger& merger, bool& after_unknown,
                   std::vector<std::int32_t>& ids) const;
  void append_unknown(std::string_view symbol, std::vector<std::int32_t>& ids) const;

  PieceTrie user_defined_;
  std::vector<std::uint32_t> ranks_;  // by id: 0 for the best score, equal for equal scores
  std::optional<ByteIds> byte_ids_;
  bool squeeze_spaces_;
  PieceMap ids_;         // of the pieces that merging can make
  Adjacency adjacency_;  // in them
  std::size_t longest_merged_ = 0;
};

std::string SentencePieceBpe::normalise(std::string_view text) const {
  std::string out;
  out.reserve(text.size() + 1);
  if (adds_space_prefix()) out += ' ';
  append_unmarked(out, text);
  if (squeeze_spaces_) {
    // No space in front but the prefix, none behind, one between words.
    const auto both_spaces = [](char a, char b) { return a == ' ' && b == ' '; };
    out.erase(std::unique(out.begin(), out.end(), both_spaces), out.end());
    if (!out.empty() && out.back() == ' ') out.pop_back();
    if (!adds_space_prefix() && !out.empty() && out.front() == ' ') out.erase(out.begin());
  }
  return out;
}

void SentencePieceBpe::encode_plain(std::string_view text, std::vector<std::int32_t>& ids) const {
  if (text.empty()) return;
  const std::string normal = normalise(text);
  const std::string_view rest = normal;
  SymbolMerger merger;
  PieceFinder finder(user_defined_, rest);
  for (std::size_t at = 0; at < rest.size();) {
    PieceTrie::Match match;
    const std::size_t found = finder.find(at, match);
    if (found > at) encode_stretch(rest.substr(at, found - at), merger, ids);
    if (match.id >= 0) ids.push_back(match.id);
    at = found + match.size;
  }
}

void SentencePieceBpe::encode_stretch(std::string_view text, SymbolMerger& merger,
                                      std::vector<std::int32_t>& ids) const {
  bool after_unknown = false;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end) {
    end = at + char_size(text, at);
    while (end < text.size() && adjacency_.joins(text[end - 1], text[end])) {
      end += char_size(text, end);
    }
    encode_part(text.substr(at, end - at), merger, after_unknown, ids);
  }
}

void SentencePieceBpe::encode_part(std::string_view text, SymbolMerger& merger, bool& after_unknown,
                                   std::vector<std::int32_t>& ids) const {
  merger.reset(text.size());
  for (std::size_t at = 0; at < text.size(); at += char_size(text, at)) merger.mark(at);
  merger.run(
      [&](std::size_t left, std::size_t, std::size_t end) {
        if (end - left > longest_merged_) return SymbolMerger::kNever;
        const std::int32_t id = ids_.find(text.substr(left, end - left));
        return id < 0 ? SymbolMerger::kNever : ranks_[static_cast<std::size_t>(id)];
      },
      [](std::size_t, std::uint32_t) {});
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
    ids.push_back(*unknown());
    return;
  }
  for (const char c : symbol) ids.push_back((*byte_ids_)[static_cast<unsigned char>(c)]);
}

/// The ids of the byte tokens, nothing when there are none.
std::optional<ByteIds> read_byte_ids(const TokenizerData& data, Vocabulary& v) {
  ByteIds ids;
  ids.fill(-1);
  int found = 0;
  for (std::size_t i = 0; i < v.types.size(); ++i) {
    const std::optional<std::uint8_t> byte = byte_of(data.tokens[i]);
    if (data.types.empty() && byte && v.types[i] == TokenType::kNormal)
      v.types[i] = TokenType::kByte;
    if (v.types[i] != TokenType::kByte) continue;
    if (!byte) {
      throw vocabulary_error(data, cat("byte token ", i, " is '", printable(data.tokens[i]),
                                       "', expected <0x00> to <0xFF>"));
    }
    if (ids[*byte] >= 0) {
      throw vocabulary_error(
          data, cat("byte token '", data.tokens[i], "' is both ", ids[*byte], " and ", i));
    }
    ids[*byte] = static_cast<std::int32_t>(i);
    ++found;
  }
  if (found == 0) return std::nullopt;
  if (found < 256) throw vocabulary_error(data, cat(found, " of 256 byte tokens"));
  return ids;
}

/// Dense ranks of the scores, best first, equal for equal scores: what the merger compares.
std::vector<std::uint32_t> rank_scores(const TokenizerData& data) {
  if (data.scores.empty()) throw vocabulary_error(data, "sentencepiece bpe without scores");
  std::vector<float> scores = data.scores;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (!std::isfinite(scores[i]))
      throw vocabulary_error(data, cat("score ", i, " is ", scores[i]));
  }
  std::sort(scores.begin(), scores.end(), std::greater<>());
  scores.erase(std::unique(scores.begin(), scores.end()), scores.end());
  std::vector<std::uint32_t> ranks(data.scores.size());
  std::transform(data.scores.begin(), data.scores.end(), ranks.begin(), [&](float score) {
    const auto at = std::lower_bound(scores.begin(), scores.end(), score, std::greater<>());
    return static_cast<std::uint32_t>(at - scores.begin());
  });
  return ranks;
}

void add_piece(const TokenizerData& data, std::size_t i, Vocabulary& v) {
  const std::string_view text = data.tokens[i];
  switch (v.types[i]) {
    case TokenType::kByte: {
      const char byte = static_cast<char>(*byte_of(text));
      v.pieces.add({&byte, 1});
      return;
    }
    case TokenType::kUnknown:
      v.pieces.add(kUnknownText);
      return;
    case TokenType::kControl:
      v.pieces.add(text);
      return;
    case TokenType::kNormal:
    case TokenType::kUserDefined:
    case TokenType::kUnused:
      break;
  }
  std::string unmarked;
  append_unmarked(unmarked, text);
  if (v.types[i] == TokenType::kNormal && unmarked.size() > kMergedBytesMax) {
    throw vocabulary_error(data, cat("token ", i, " has ", unmarked.size(), " bytes, more than ",
                                     kMergedBytesMax, ", and is neither control nor user-defined"));
  }
  v.pieces.add(unmarked);
}

std::unique_ptr<Tokenizer> SentencePieceBpe::make(const TokenizerData& data,
                                                  std::vector<std::string>& warnings) {
  if (!data.pre) {
    warnings.push_back(cat(printable(data.file), ": no tokenizer.ggml.pre, using default"));
  } else if (*data.pre != "default") {
    throw vocabulary_error(data, cat("tokenizer.ggml.pre '", printable(*data.pre),
                                     "' is not supported for sentencepiece; supported: default"));
  }
  Parts parts;
  Vocabulary& v = parts.vocabulary;
  v = read_vocabulary(data);
  v.add_bos = data.add_bos.value_or(true);
  if (data.types.empty() && v.unknown)
    v.types[static_cast<std::size_t>(*v.unknown)] = TokenType::kUnknown;
  parts.ranks = rank_scores(data);
  parts.byte_ids = read_byte_ids(data, v);
  if (!parts.byte_ids && !v.unknown)
    throw vocabulary_error(data, "neither byte tokens nor an unknown token");
  std::vector<TrieEntry> special;
  for (std::size_t i = 0; i < data.tokens.size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    add_piece(data, i, v);
    if (v.types[i] == TokenType::kControl || id == v.unknown)
      special.push_back({data.tokens[i], id});
  }
  // Built when all pieces are in place: the entries are views into them.
  std::vector<TrieEntry> user_defined;
  for (std::size_t i = 0; i < v.types.size(); ++i) {
    if (v.types[i] == TokenType::kUserDefined) {
      user_defined.push_back({v.pieces[i], static_cast<std::int32_t>(i)});
    }
  }
  parts.user_defined = PieceTrie(std::move(user_defined));
  parts.squeeze_spaces = data.remove_extra_whitespaces.value_or(false);
  parts.traits.special = PieceTrie(std::move(special));
  parts.traits.space_prefix = data.add_space_prefix.value_or(true);
  parts.traits.replace_every_byte = true;
  // U+2581 has three bytes and becomes one; runs of spaces or unknown characters can vanish in one
  // token.
  parts.traits.shrink_max = parts.squeeze_spaces || !parts.byte_ids ? 0 : kSpaceMark.size();
  return std::make_unique<SentencePieceBpe>(std::move(parts));
}

}  // namespace

std::unique_ptr<Tokenizer> make_sentencepiece_bpe(const TokenizerData& data,
                                                  std::vector<std::string>& warnings) {
  return SentencePieceBpe::make(data, warnings);
}

}  // namespace ingot
