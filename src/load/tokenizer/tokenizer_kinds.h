// Completes the usual kinds of tokenizers, whose files hold only pieces and a name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// The settings of a SentencePiece model.
struct SentencePieceSettings {
  std::string charsmap;    ///< the precompiled normalisation, empty for none
  bool add_prefix = true;  ///< a space in front of every text
  bool squeeze = false;    ///< no space in front or behind, one between words
};

/// Completes the description of a SentencePiece model (BPE or Unigram) that has its tokens, types
/// and scores. Texts hold plain spaces. User-defined pieces are found in every text, control pieces
/// only on demand.
///
/// Source:  Kudo, Richardson: SentencePiece (arXiv:1808.06226).
void describe_sentencepiece(TokenizerData& data, const SentencePieceSettings& settings);

/// Completes the description of a byte-level BPE that has its tokens, types and merges. `name` is
/// GGUF's name of the pattern; it also decides the normal form and whether a piece that is a token
/// is merged. User-defined runs of spaces are text and found in every mode (GPT-NeoX).
void describe_byte_level(TokenizerData& data, std::string_view name);

/// Whether models with this pattern begin a text with BOS unless their files say otherwise.
bool pattern_adds_bos(std::string_view name);

/// The switches of a BERT tokenizer's configuration.
struct BertSettings {
  bool lowercase = true;
  bool strip_accents = true;
  bool space_cjk = true;
};

/// Completes the description of a BERT WordPiece model that has its tokens and types.
///
/// Source:  Devlin et al., BERT (arXiv:1810.04805); its tokenization.py.
void describe_bert(TokenizerData& data, const BertSettings& settings);

/// The byte of a token "<0xHH>" with upper-case digits, or nothing.
std::optional<std::uint8_t> byte_of_token(std::string_view token);

/// `text` with each U+2581, SentencePiece's mark of a space, as a space.
std::string without_space_marks(std::string_view text);

}  // namespace ingot
