// TokenModel: the algorithm (BPE, Unigram, WordPiece) that turns a piece of text into token ids.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "load/tokenizer/tokenizer_data.h"
#include "text/tokenizer/symbol_merger.h"

namespace ingot {

/// Buffers that TokenModel::encode reuses from piece to piece.
struct ModelScratch {
  std::vector<std::int32_t> symbols;
  SymbolMerger merger;
};

/// A tokenization algorithm with its vocabulary. Immutable: any number of threads can use it.
class TokenModel {
 public:
  TokenModel() = default;
  TokenModel(const TokenModel&) = delete;
  TokenModel& operator=(const TokenModel&) = delete;
  virtual ~TokenModel() = default;

  /// Appends the tokens of one normalised, pre-tokenized piece to `ids`.
  virtual void encode(std::string_view piece, ModelScratch& scratch,
                      std::vector<std::int32_t>& ids) const = 0;

  /// Returns whether tokens always cover a piece exactly: the model drops no character, and no
  /// token stands for a run of unknown characters.
  virtual bool is_complete() const = 0;
};

/// Makes the model that `data` describes. With a ByteLevel pre-tokenizer, a BPE model merges bytes.
/// Appends lines on which no user can act to `details`.
///
/// Errors:  vocabulary_error for a vocabulary that the model cannot use.
std::unique_ptr<TokenModel> make_token_model(const TokenizerData& data,
                                             std::vector<std::string>& details);

}  // namespace ingot
