// Decoding of the tokenizer's arrays and settings from GGUF metadata.
#include "load/gguf_tokenizer.h"

#include <cmath>

#include "base/text.h"
#include "load/config.h"

namespace ingot {

namespace {

constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
/// About ten times the longest list there is.
constexpr std::uint64_t kMergesMax = std::uint64_t{1} << 22;

StringTable strings(const GgufEntry& entry) {
  StringTable table;
  table.reserve(entry.count, entry.data.size() - entry.count * 8);  // 8: each one's length
  entry.for_each_string([&](std::string_view text) { table.add(text); });
  return table;
}

void read_scores(GgufKeys& keys, TokenizerData& out) {
  constexpr std::string_view kKey = "tokenizer.ggml.scores";
  const GgufEntry* entry = keys.array(kKey, GgufType::kFloat32);
  if (entry == nullptr) return;
  if (entry->count != out.tokens.size()) {
    keys.refuse(kKey, cat("must have an entry for each of the ", out.tokens.size(), " tokens"));
  }
  out.scores.resize(entry->count);
  for (std::size_t i = 0; i < out.scores.size(); ++i) {
    out.scores[i] = entry->number<float>(i);
    if (!std::isfinite(out.scores[i])) {
      keys.refuse(kKey, cat("has the score ", out.scores[i], " for token ", i, ", must be finite"));
    }
  }
}

void read_types(GgufKeys& keys, TokenizerData& out) {
  constexpr std::string_view kKey = "tokenizer.ggml.token_type";
  const GgufEntry* entry = keys.array(kKey, GgufType::kInt32);
  if (entry == nullptr) return;
  if (entry->count != out.tokens.size()) {
    keys.refuse(kKey, cat("must have an entry for each of the ", out.tokens.size(), " tokens"));
  }
  out.types.resize(entry->count);
  for (std::size_t i = 0; i < out.types.size(); ++i) {
    const auto type = entry->number<std::int32_t>(i);
    if (type < 1 || type > 6) {
      keys.refuse(kKey, cat("has the type ", type, " for token ", i, ", must be 1 to 6"));
    }
    out.types[i] = static_cast<TokenType>(type);
  }
}

std::optional<std::int32_t> read_id(GgufKeys& keys, std::string_view key, std::size_t tokens) {
  const GgufEntry* entry = keys.any(key);
  if (entry == nullptr) return std::nullopt;
  if (entry->type == GgufType::kInt32 && entry->number<std::int32_t>() == -1) return std::nullopt;
  const std::optional<std::int64_t> id = keys.uint32(key);
  if (!id || *id == std::int64_t{0xffffffff}) return std::nullopt;
  if (static_cast<std::uint64_t>(*id) >= tokens) {
    keys.refuse(key, cat("is beyond the vocabulary of ", tokens, " tokens"));
  }
  return static_cast<std::int32_t>(*id);
}

std::optional<std::string> read_text(GgufKeys& keys, std::string_view key) {
  const std::optional<std::string_view> text = keys.text(key);
  if (!text) return std::nullopt;
  return std::string(*text);
}

void read_settings(GgufKeys& keys, TokenizerData& out) {
  const std::size_t n = out.tokens.size();
  out.bos = read_id(keys, "tokenizer.ggml.bos_token_id", n);
  out.eos = read_id(keys, "tokenizer.ggml.eos_token_id", n);
  out.eot = read_id(keys, "tokenizer.ggml.eot_token_id", n);
  out.unknown = read_id(keys, "tokenizer.ggml.unknown_token_id", n);
  out.padding = read_id(keys, "tokenizer.ggml.padding_token_id", n);
  out.add_bos = keys.boolean("tokenizer.ggml.add_bos_token");
  out.add_eos = keys.boolean("tokenizer.ggml.add_eos_token");
  out.add_space_prefix = keys.boolean("tokenizer.ggml.add_space_prefix");
  out.remove_extra_whitespaces = keys.boolean("tokenizer.ggml.remove_extra_whitespaces");
  out.pre = read_text(keys, "tokenizer.ggml.pre");
  out.chat_template = read_text(keys, "tokenizer.chat_template");
}

}  // namespace

std::unique_ptr<TokenizerData> gguf_tokenizer(GgufKeys& keys) {
  const std::optional<std::string> model = read_text(keys, "tokenizer.ggml.model");
  const GgufEntry* tokens = keys.array(kTokens, GgufType::kString);
  if (tokens == nullptr) {
    // "no_vocab" says so; a model's name without tokens is a file that lost them.
    if (model && *model != "no_vocab" && *model != "none") keys.fail(cat(kTokens, " is missing"));
    return nullptr;
  }
  if (!model) keys.fail("tokenizer.ggml.model is missing");
  if (tokens->count == 0 || tokens->count > static_cast<std::uint64_t>(kVocabMax)) {
    keys.refuse(kTokens, cat("must have 1 to ", kVocabMax, " elements"));
  }
  auto out = std::make_unique<TokenizerData>();
  out->file = keys.file().name;
  out->model = *model;
  out->tokens = strings(*tokens);
  if (const GgufEntry* merges = keys.array("tokenizer.ggml.merges", GgufType::kString)) {
    if (merges->count > kMergesMax) {
      keys.refuse("tokenizer.ggml.merges", cat("must have at most ", kMergesMax, " elements"));
    }
    out->merges = strings(*merges);
  }
  read_scores(keys, *out);
  read_types(keys, *out);
  read_settings(keys, *out);
  return out;
}

}  // namespace ingot
