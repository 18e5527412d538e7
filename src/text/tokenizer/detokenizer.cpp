// Detokenizer: joins the bytes of tokens, and writes all complete UTF-8 characters.
#include "text/tokenizer/detokenizer.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace ingot {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

}  // namespace

void Detokenizer::push(std::int32_t id, std::string& out) {
  if (id < 0 || id >= tokenizer_->size()) {
    finish(out);
    at_start_ = false;
    out += kReplacement;
    return;
  }
  const std::string_view bytes = next_bytes(id);
  if (bytes.empty()) return;
  held_ += bytes;
  release(held_.size() - incomplete_utf8_tail(held_), out);
}

std::string_view Detokenizer::next_bytes(std::int32_t id) {
  const TokenType type = tokenizer_->type(id);
  if (type == TokenType::kControl && drops(id)) return {};
  const bool first = std::exchange(at_start_, false) && options_.strip_leading_space;
  const std::string_view bytes = first ? tokenizer_->first_piece(id) : tokenizer_->piece(id);
  const bool is_text = type == TokenType::kNormal || type == TokenType::kUserDefined;
  return first && is_text ? without_prefix(bytes) : bytes;
}

/// Whether a control token becomes no text.
bool Detokenizer::drops(std::int32_t id) const {
  const auto& kept = options_.markers;
  return !options_.keep_control && std::find(kept.begin(), kept.end(), id) == kept.end();
}

std::string_view Detokenizer::without_prefix(std::string_view bytes) const {
  const std::string_view prefix = tokenizer_->stripped_prefix();
  for (int i = 0; i < tokenizer_->stripped_prefix_count() && bytes.starts_with(prefix); ++i) {
    bytes.remove_prefix(prefix.size());
  }
  return bytes;
}

void Detokenizer::finish(std::string& out) {
  release(held_.size(), out);
  at_start_ = true;
}

void Detokenizer::release(std::size_t size, std::string& out) {
  const std::string_view ready = std::string_view(held_).substr(0, size);
  for (std::size_t at = 0; at < ready.size();) {
    const Utf8Char step = decode_utf8(ready.substr(at));
    if (step.valid) {
      out += ready.substr(at, step.size);
    } else {
      const std::size_t count = tokenizer_->replaces_every_byte() ? step.size : 1;
      for (std::size_t i = 0; i < count; ++i) out += kReplacement;
    }
    at += step.size;
  }
  held_.erase(0, size);
}

std::string detokenize(const Tokenizer& tokenizer, std::span<const std::int32_t> ids,
                       const DetokenizeOptions& options) {
  std::string text;
  Detokenizer detokenizer(tokenizer, options);
  for (const std::int32_t id : ids) detokenizer.push(id, text);
  detokenizer.finish(text);
  return text;
}

}  // namespace ingot
