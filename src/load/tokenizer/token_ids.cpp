// TokenIds: sorts tokens by id and by text, in O(n log n) for any texts.
#include "load/tokenizer/token_ids.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "load/config.h"

namespace ingot {

TokenIds::TokenIds(const TokenizerData& data) {
  for (std::size_t i = 0; i < data.tokens.size(); ++i) {
    const bool hole = data.tokens[i].empty() && data.types[i] == TokenType::kUnused;
    if (!hole) add(data.tokens[i], static_cast<std::int64_t>(i));
  }
}

std::optional<std::string> TokenIds::index() {
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.id, a.text) < std::tie(b.id, b.text);
  });
  const auto same = [](const Entry& a, const Entry& b) { return a.id == b.id && a.text == b.text; };
  entries_.erase(std::unique(entries_.begin(), entries_.end(), same), entries_.end());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    if (entry.id < 0 || entry.id >= kVocabMax) {
      return cat("'", printable(entry.text, 64), "' has the id ", entry.id, ", accepted are 0 to ",
                 kVocabMax - 1);
    }
    if (i > 0 && entry.id == entries_[i - 1].id) {
      return cat("the id ", entry.id, " is both '", printable(entries_[i - 1].text, 64), "' and '",
                 printable(entry.text, 64), "'");
    }
  }
  by_text_.resize(entries_.size());
  std::iota(by_text_.begin(), by_text_.end(), std::size_t{0});
  std::sort(by_text_.begin(), by_text_.end(),
            [&](std::size_t a, std::size_t b) { return entries_[a].text < entries_[b].text; });
  for (std::size_t i = 1; i < by_text_.size(); ++i) {
    const Entry& a = entries_[by_text_[i - 1]];
    const Entry& b = entries_[by_text_[i]];
    if (a.text == b.text) {
      return cat("'", printable(a.text, 64), "' has the ids ", a.id, " and ", b.id);
    }
  }
  return std::nullopt;
}

std::optional<std::int32_t> TokenIds::find(std::string_view text) const {
  const auto at = std::lower_bound(
      by_text_.begin(), by_text_.end(), text,
      [&](std::size_t i, std::string_view wanted) { return entries_[i].text < wanted; });
  if (at == by_text_.end() || entries_[*at].text != text) return std::nullopt;
  return static_cast<std::int32_t>(entries_[*at].id);
}

void TokenIds::fill(TokenizerData& data) const {
  StringTable tokens;
  const std::size_t known = data.tokens.size();
  std::vector<TokenType> types;
  for (const Entry& entry : entries_) {
    const auto id = to_size(entry.id);
    while (tokens.size() < id) {
      tokens.add({});
      types.push_back(TokenType::kUnused);
    }
    tokens.add(entry.text);
    const bool is_new = id >= known || data.types[id] == TokenType::kUnused;
    types.push_back(is_new ? TokenType::kNormal : data.types[id]);
  }
  data.tokens = std::move(tokens);
  data.types = std::move(types);
  if (!data.scores.empty()) data.scores.resize(data.tokens.size());
}

std::optional<std::string> place_added_tokens(TokenizerData& data) {
  TokenIds ids(data);
  for (const AddedToken& token : data.added) ids.add(token.content, token.id);
  if (auto wrong = ids.index()) return wrong;
  ids.fill(data);
  for (const AddedToken& token : data.added) {
    at(data.types, token.id) = token.special ? TokenType::kControl : TokenType::kUserDefined;
  }
  return std::nullopt;
}

}  // namespace ingot
