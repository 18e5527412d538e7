// Adds the settings that a tokenizer's kind (SentencePiece, byte-level BPE, BERT) implies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// How a SentencePiece model normalises texts.
struct SentencePieceSettings {
  std::string charsmap;    ///< the precompiled normalisation map; empty: no map
  bool add_prefix = true;  ///< whether to add a space in front of every text
  bool squeeze = false;    ///< whether to remove outer spaces and join several spaces to one
};

/// Adds the settings of a SentencePiece model (BPE or Unigram) to `data`, which must have tokens,
/// types and scores. Normalisation turns U+2581 into spaces. The tokenizer finds user-defined
/// pieces in every text. It finds control pieces only with EncodeOptions::parse_special.
///
/// Source:  Kudo, Richardson: SentencePiece (arXiv:1808.06226).
void describe_sentencepiece(TokenizerData& data, const SentencePieceSettings& settings);

/// Adds the settings of a byte-level BPE model to `data`, which must have tokens, types and merges.
/// GGUF's pattern `name` decides pre-tokenization, normal form and `ignore_merges`. The tokenizer
/// finds user-defined tokens that consist of spaces in every text (GPT-NeoX).
void describe_byte_level(TokenizerData& data, std::string_view name);

/// Adds the settings of a BPE model whose tokens have U+2581 for spaces, and bytes for characters
/// without a token, to `data`, which must have tokens, types and merges. Texts are not cut before
/// merging (Gemma).
void describe_spaced_bpe(TokenizerData& data);

/// Returns whether models with the pre-tokenizer pattern `name` add BOS if their files do not say.
bool pattern_adds_bos(std::string_view name);

/// Which normalisation steps a BERT tokenizer applies.
struct BertSettings {
  bool lowercase = true;
  bool strip_accents = true;
  bool space_cjk = true;
};

/// Adds the settings of a BERT WordPiece model to `data`, which must have tokens and types.
///
/// Source:  Devlin et al., BERT (arXiv:1810.04805); its tokenization.py.
void describe_bert(TokenizerData& data, const BertSettings& settings);

/// Returns the byte of a byte token ("<0xHH>" with upper-case digits); nothing for other tokens.
std::optional<std::uint8_t> byte_of_token(std::string_view token);

/// Replaces each U+2581 (SentencePiece's mark for a space) in `text` with a space.
std::string without_space_marks(std::string_view text);

}  // namespace ingot
