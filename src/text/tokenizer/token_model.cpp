// Makes the TokenModel that a TokenizerData describes.
#include "text/tokenizer/token_model.h"

#include <algorithm>

#include "base/index.h"
#include "load/tokenizer/tokenizer_kinds.h"
#include "text/tokenizer/bpe.h"
#include "text/tokenizer/byte_tokens.h"
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

std::unique_ptr<TokenModel> make_unigram(const TokenizerData& data) {
  const Unigram::Settings settings = {.unknown = data.unknown, .byte_ids = read_byte_ids(data)};
  return std::make_unique<Unigram>(texts_of(data), data.scores, scored_types(data), settings,
                                   data.file);
}

std::unique_ptr<TokenModel> make_wordpiece(const TokenizerData& data) {
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
  const WordPiece::Settings settings = {.unknown = *data.unknown,
                                        .word_chars_max = to_size(data.word_chars_max)};
  return std::make_unique<WordPiece>(std::move(beginning), std::move(continuing), settings);
}

}  // namespace

std::unique_ptr<TokenModel> make_token_model(const TokenizerData& data,
                                             std::vector<std::string>& details) {
  switch (data.model) {
    case TokenizerModel::kBpe:
      if (is_byte_level(data)) return make_byte_bpe(data, details);
      return make_char_bpe(data);
    case TokenizerModel::kSentencePieceBpe:
      return make_sentencepiece_bpe(data);
    case TokenizerModel::kUnigram:
      return make_unigram(data);
    case TokenizerModel::kWordPiece:
      return make_wordpiece(data);
  }
  throw vocabulary_error(data, "no such model");
}

}  // namespace ingot
