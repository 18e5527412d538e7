// The usual kinds of tokenizers, of which most files state the pieces and a name and no more.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// What a SentencePiece model says beside its pieces.
struct SentencePieceSettings {
  std::string charsmap;    ///< the precompiled normalisation, empty for none
  bool add_prefix = true;  ///< a space in front of every text
  bool squeeze = false;    ///< no space in front or behind, one between words
};

/// Completes the description of a SentencePiece model (BPE or Unigram), whose tokens, types and
/// scores are there: texts are held with plain spaces, user-defined pieces are found in every text,
/// control pieces only on demand.
///
/// Source:  Kudo, Richardson: SentencePiece (arXiv:1808.06226).
void describe_sentencepiece(TokenizerData& data, const SentencePieceSettings& settings);

/// Completes the description of a byte-level BPE whose tokens, types and merges are there, cut by
/// the pattern that GGUF files call `name`. With the name come its normal form and whether a piece
/// that is a token is merged. User-defined tokens that are runs of spaces are text and found in
/// every mode (GPT-NeoX).
void describe_byte_level(TokenizerData& data, std::string_view name);

/// Whether models with this pattern begin a text with BOS unless their files say otherwise.
bool pattern_adds_bos(std::string_view name);

/// What a BERT tokenizer's configuration can switch.
struct BertSettings {
  bool lowercase = true;
  bool strip_accents = true;
  bool space_cjk = true;
};

/// Completes the description of BERT's WordPiece, whose tokens and types are there.
///
/// Source:  Devlin et al., BERT (arXiv:1810.04805); its tokenization.py.
void describe_bert(TokenizerData& data, const BertSettings& settings);

/// The byte that a token of the form "<0xHH>", in upper case, stands for, or nothing.
std::optional<std::uint8_t> byte_of_token(std::string_view token);

/// `text` with spaces for U+2581, SentencePiece's mark of one.
std::string without_space_marks(std::string_view text);

}  // namespace ingot
