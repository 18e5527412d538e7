// TokenModel: the algorithm of a tokenizer that turns a piece of text into ids.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "load/tokenizer/tokenizer_data.h"
#include "text/tokenizer/symbol_merger.h"

namespace ingot {

/// Memory that the pieces of one text share.
struct ModelScratch {
  std::vector<std::int32_t> symbols;
  SymbolMerger merger;
};

/// A model over a vocabulary. Immutable: any number of threads can use it.
class TokenModel {
 public:
  TokenModel() = default;
  TokenModel(const TokenModel&) = delete;
  TokenModel& operator=(const TokenModel&) = delete;
  virtual ~TokenModel() = default;

  /// Appends the tokens of one normalised, pre-tokenized piece.
  virtual void encode(std::string_view piece, ModelScratch& scratch,
                      std::vector<std::int32_t>& ids) const = 0;

  /// Whether the tokens cover a piece exactly: no part is dropped, and no token represents a run of
  /// unknown characters.
  virtual bool is_complete() const = 0;
};

/// The model that `data` describes; a byte-level one when a pre-tokenizer turns bytes into symbols.
/// Appends notes for the user to `warnings`.
///
/// Errors:  vocabulary_error for unusable vocabularies.
std::unique_ptr<TokenModel> make_token_model(const TokenizerData& data,
                                             std::vector<std::string>& warnings);

}  // namespace ingot
