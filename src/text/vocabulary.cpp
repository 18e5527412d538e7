// Reading what all tokenizers have in common, with the bounds on it.
#include "text/vocabulary.h"

#include <utility>

#include "base/text.h"

namespace ingot {
namespace {

void check_sizes(const TokenizerData& data) {
  const std::size_t count = data.tokens.size();
  if (count == 0) throw vocabulary_error(data, "no tokens");
  if (count > kTokensMax)
    throw vocabulary_error(data, cat(count, " tokens are more than ", kTokensMax));
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t size = data.tokens[i].size();
    if (size > kPieceBytesMax) {
      throw vocabulary_error(data,
                             cat("token ", i, " has ", size, " bytes, more than ", kPieceBytesMax));
    }
    bytes += size;
  }
  if (bytes > kAllPieceBytesMax) {
    throw vocabulary_error(data,
                           cat("the tokens have ", bytes, " bytes, more than ", kAllPieceBytesMax));
  }
  if (!data.scores.empty() && data.scores.size() != count) {
    throw vocabulary_error(data, cat(data.scores.size(), " scores for ", count, " tokens"));
  }
  if (!data.types.empty() && data.types.size() != count) {
    throw vocabulary_error(data, cat(data.types.size(), " token types for ", count, " tokens"));
  }
}

void check_added(const TokenizerData& data, const Vocabulary& vocabulary) {
  std::size_t count = 0;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < vocabulary.types.size(); ++i) {
    const TokenType type = vocabulary.types[i];
    if (type != TokenType::kControl && type != TokenType::kUserDefined) continue;
    ++count;
    bytes += data.tokens[i].size();
  }
  if (count > kAddedTokensMax || bytes > kAddedBytesMax) {
    throw vocabulary_error(
        data, cat(count, " control and user-defined tokens with ", bytes, " bytes are more than ",
                  kAddedTokensMax, " and ", kAddedBytesMax));
  }
}

}  // namespace

Error vocabulary_error(const TokenizerData& data, std::string_view reason) {
  return model_error(data.file, "tokenizer", 0, reason);
}

Vocabulary read_vocabulary(const TokenizerData& data) {
  check_sizes(data);
  Vocabulary v;
  v.types = data.types;
  v.types.resize(data.tokens.size(), TokenType::kNormal);
  const std::pair<std::string_view, std::optional<std::int32_t>> roles[] = {
      {"bos", data.bos},
      {"eos", data.eos},
      {"unknown", data.unknown},
      {"padding", data.padding},
      {"eot", data.eot}};
  for (const auto& [role, id] : roles) {
    if (!id) continue;
    if (*id < 0 || static_cast<std::size_t>(*id) >= data.tokens.size()) {
      throw vocabulary_error(data, cat(role, " is token ", *id, " of ", data.tokens.size()));
    }
    if (data.types.empty() && role != "unknown")
      v.types[static_cast<std::size_t>(*id)] = TokenType::kControl;
  }
  v.bos = data.bos;
  v.eos = data.eos;
  v.unknown = data.unknown;
  v.padding = data.padding;
  v.eot = data.eot;
  v.add_bos = data.add_bos.value_or(false);
  v.add_eos = data.add_eos.value_or(false);
  check_added(data, v);
  return v;
}

}  // namespace ingot
