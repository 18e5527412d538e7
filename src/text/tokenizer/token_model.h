// What turns a piece of text into ids: the algorithm in the middle of a tokenizer.
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

  /// Appends the tokens of one piece, as normalisation and pre-tokenization leave it.
  virtual void encode(std::string_view piece, ModelScratch& scratch,
                      std::vector<std::int32_t>& ids) const = 0;

  /// Whether tokens stand for all that is in a piece: no part of it is left out and no token stands
  /// for any number of unknown characters.
  virtual bool is_complete() const = 0;
};

/// The model that `data` asks for. A byte-level one where a pre-tokenizer makes bytes symbols.
///
/// Errors:  vocabulary_error for vocabularies that it cannot work with; what a user should know is
/// appended to `warnings`.
std::unique_ptr<TokenModel> make_token_model(const TokenizerData& data,
                                             std::vector<std::string>& warnings);

}  // namespace ingot
