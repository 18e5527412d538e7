// Makes the TokenModel that a TokenizerData describes, and adapts Unigram and WordPiece to it.
#include "text/tokenizer/token_model.h"

#include <algorithm>

#include "load/tokenizer/tokenizer_kinds.h"
#include "text/tokenizer/byte_bpe.h"
#include "text/tokenizer/byte_tokens.h"
#include "text/tokenizer/char_bpe.h"
#include "text/tokenizer/sentencepiece_bpe.h"
#include "text/tokenizer/unigram.h"
#include "text/tokenizer/vocabulary.h"
#include "text/tokenizer/wordpiece.h"

namespace ingot {
namespace {

bool is_byte_level(const TokenizerData& data) {
  return std::any_of(data.pretokenizers.begin(), data.pretokenizers.end(), [](const auto& step) {
    return step.kind == PretokenizerStep::Kind::kByteLevel;
  });
}

/// The tokens as normalised texts spell them.
StringTable texts_of(const TokenizerData& data) {
  if (!data.space_marks) return data.tokens;
  StringTable texts;
  for (std::size_t i = 0; i < data.tokens.size(); ++i) {
    texts.add(without_space_marks(data.tokens[i]));
  }
  return texts;
}

/// Token types for Unigram: added tokens of a tokenizer.json have no score, so they are unused.
std::vector<TokenType> scored_types(const TokenizerData& data) {
  std::vector<TokenType> types = data.types;
  if (data.space_marks) return types;
  std::replace(types.begin(), types.end(), TokenType::kUserDefined, TokenType::kUnused);
  return types;
}

class UnigramModel final : public TokenModel {
 public:
  explicit UnigramModel(const TokenizerData& data)
      : byte_ids_(read_byte_ids(data)),
        unigram_(texts_of(data), data.scores, scored_types(data),
                 {.unknown = data.unknown, .byte_ids = byte_ids_}, data.file) {}

  void encode(std::string_view piece, ModelScratch&,
              std::vector<std::int32_t>& ids) const override {
    unigram_.encode(piece, ids);
  }
  bool is_complete() const override { return byte_ids_.has_value(); }

 private:
  std::optional<ByteIds> byte_ids_;
  Unigram unigram_;
};

class WordPieceModel final : public TokenModel {
 public:
  explicit WordPieceModel(const TokenizerData& data) : wordpiece_(make(data)) {}

  void encode(std::string_view piece, ModelScratch&,
              std::vector<std::int32_t>& ids) const override {
    wordpiece_.encode_word(piece, ids);
  }
  bool is_complete() const override { return false; }

 private:
  static WordPiece make(const TokenizerData& data) {
    if (!data.unknown) throw vocabulary_error(data, "wordpiece without an unknown token");
    const std::string_view prefix = data.continuing_prefix;
    std::vector<TrieEntry> beginning;
    std::vector<TrieEntry> continuing;
    for (std::size_t i = 0; i < data.tokens.size(); ++i) {
      if (data.types[i] != TokenType::kNormal) continue;
      const std::string_view token = data.tokens[i];
      const auto id = static_cast<std::int32_t>(i);
      beginning.push_back({token, id});
      if (token.starts_with(prefix)) continuing.push_back({token.substr(prefix.size()), id});
    }
    return {std::move(beginning),
            std::move(continuing),
            {.unknown = *data.unknown,
             .word_chars_max = static_cast<std::size_t>(data.word_chars_max)}};
  }

  WordPiece wordpiece_;
};

}  // namespace

std::unique_ptr<TokenModel> make_token_model(const TokenizerData& data,
                                             std::vector<std::string>& warnings) {
  switch (data.model) {
    case TokenizerModel::kBpe:
      if (is_byte_level(data)) return make_byte_bpe(data, warnings);
      return make_char_bpe(data);
    case TokenizerModel::kSentencePieceBpe:
      return make_sentencepiece_bpe(data);
    case TokenizerModel::kUnigram:
      return std::make_unique<UnigramModel>(data);
    case TokenizerModel::kWordPiece:
      return std::make_unique<WordPieceModel>(data);
  }
  throw vocabulary_error(data, "no such model");
}

}  // namespace ingot
