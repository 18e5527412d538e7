// Adds the settings that a tokenizer's kind (SentencePiece, byte-level BPE, BERT) implies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// The settings of a SentencePiece model.
struct SentencePieceSettings {
  std::string charsmap;    ///< the precompiled normalisation map; empty: no map
  bool add_prefix = true;  ///< adds a space in front of every text
  bool squeeze = false;    ///< removes outer spaces, and joins several spaces to one
};

/// Adds the settings of a SentencePiece model (BPE or Unigram) to `data`, which has tokens, types
/// and scores. Normalised texts have plain spaces. User-defined pieces are found in every text,
/// control pieces only with EncodeOptions::parse_special.
///
/// Source:  Kudo, Richardson: SentencePiece (arXiv:1808.06226).
void describe_sentencepiece(TokenizerData& data, const SentencePieceSettings& settings);

/// Adds the settings of a byte-level BPE to `data`, which has tokens, types and merges. `name` is
/// GGUF's name of the pre-tokenizer pattern; it also decides the normal form and `ignore_merges`.
/// User-defined tokens of spaces are found in every text (GPT-NeoX).
void describe_byte_level(TokenizerData& data, std::string_view name);

/// Whether models with the pre-tokenizer pattern `name` add BOS, unless their files say otherwise.
bool pattern_adds_bos(std::string_view name);

/// The switches of a BERT tokenizer's configuration.
struct BertSettings {
  bool lowercase = true;
  bool strip_accents = true;
  bool space_cjk = true;
};

/// Adds the settings of a BERT WordPiece model to `data`, which has tokens and types.
///
/// Source:  Devlin et al., BERT (arXiv:1810.04805); its tokenization.py.
void describe_bert(TokenizerData& data, const BertSettings& settings);

/// The byte of a byte token, "<0xHH>" with upper-case digits; nothing for another token.
std::optional<std::uint8_t> byte_of_token(std::string_view token);

/// `text` with a space in place of each U+2581, SentencePiece's mark for a space.
std::string without_space_marks(std::string_view text);

}  // namespace ingot
