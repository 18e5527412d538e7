// What all tokenizers share, and which one a file asks for.
#include "text/tokenizer.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "text/byte_bpe.h"
#include "text/sentencepiece_bpe.h"

namespace ingot {
namespace {

constexpr std::size_t kTextBytesMax = (std::size_t{1} << 31) - 1;

}  // namespace

Tokenizer::Tokenizer(Vocabulary vocabulary, Traits traits)
    : vocabulary_(std::move(vocabulary)), traits_(std::move(traits)) {
  for (std::size_t i = 0; i < vocabulary_.pieces.size(); ++i) {
    longest_piece_ = std::max(longest_piece_, vocabulary_.pieces[i].size());
  }
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text,
                                            const EncodeOptions& options) const {
  if (text.size() > kTextBytesMax) {
    throw Error(ErrorCode::kInvalid,
                cat("text of ", text.size(), " bytes is longer than ", kTextBytesMax));
  }
  std::vector<std::int32_t> ids;
  if (options.add_special && adds_bos()) ids.push_back(*vocabulary_.bos);
  const PieceTrie* added = nullptr;
  if (options.parse_special) {
    added = &traits_.special;
  } else if (options.parse_user_defined) {
    added = &traits_.user_defined;
  }
  if (added == nullptr || added->empty()) {
    encode_plain(text, ids);
  } else {
    PieceFinder finder(*added, text);
    for (std::size_t at = 0; at < text.size();) {
      PieceTrie::Match match;
      const std::size_t found = finder.find(at, match);
      if (found > at) encode_plain(text.substr(at, found - at), ids);
      if (match.id >= 0) ids.push_back(match.id);
      at = found + match.size;
    }
  }
  if (options.add_special && adds_eos()) ids.push_back(*vocabulary_.eos);
  return ids;
}

std::optional<std::size_t> Tokenizer::text_bytes_per_token_max() const {
  if (traits_.shrink_max == 0) return std::nullopt;
  return longest_piece_ * traits_.shrink_max;
}

std::string_view Tokenizer::piece(std::int32_t id) const {
  if (id < 0 || id >= size()) return {};
  return vocabulary_.pieces[static_cast<std::size_t>(id)];
}

TokenType Tokenizer::type(std::int32_t id) const {
  if (id < 0 || id >= size()) return TokenType::kUnused;
  return vocabulary_.types[static_cast<std::size_t>(id)];
}

std::unique_ptr<Tokenizer> make_tokenizer(const TokenizerData& data,
                                          std::vector<std::string>& warnings) {
  if (data.model == "gpt2") return make_byte_bpe(data, warnings);
  if (data.model == "llama") return make_sentencepiece_bpe(data, warnings);
  throw vocabulary_error(data, cat("tokenizer.ggml.model '", printable(data.model),
                                   "' is not supported; supported: llama, gpt2"));
}

}  // namespace ingot
