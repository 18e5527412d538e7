// with_token_ids: encodes each key of a logit_bias object that is no id.
#include "runtime/sampling/bias_texts.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace ingot {

namespace {

/// The longest text to encode; no token is longer in practice.
constexpr std::size_t kBiasTextBytesMax = 1024;

bool looks_like_id(std::string_view key) {
  if (key.starts_with('-') || key.starts_with('+')) key.remove_prefix(1);
  return !key.empty() &&
         std::all_of(key.begin(), key.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::int32_t only_token(std::string_view text, const Tokenizer& tokenizer) {
  std::vector<std::int32_t> ids;
  if (text.size() <= kBiasTextBytesMax) ids = tokenizer.encode(text);
  if (ids.size() == 1) return ids[0];
  const std::string count = text.size() > kBiasTextBytesMax ? "too many" : cat(ids.size());
  throw Error(ErrorCode::kInvalid, cat("logit_bias[\"", printable(text, 32), "\"] is ", count,
                                       " tokens, possible are ids and texts of one token"));
}

}  // namespace

Json with_token_ids(const Json& biases, const Tokenizer* tokenizer) {
  if (biases.as_object() == nullptr || tokenizer == nullptr) return biases;
  Json by_id = Json::object();
  for (const auto& [key, bias] : *biases.as_object()) {
    by_id.set(looks_like_id(key) ? key : cat(only_token(key, *tokenizer)), bias);
  }
  return by_id;
}

}  // namespace ingot
