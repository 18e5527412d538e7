// Job: the results of one sequence without an engine, against which the engine's are checked.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "kv/prefix_index.h"
#include "runtime/request.h"
#include "sim/random.h"
#include "sim/text_rule.h"

namespace ingot::sim {

inline constexpr std::int32_t kVocab = 32;
inline constexpr std::int32_t kEndOfText = 0;

/// The text of a token, which is one character.
inline char text_of(std::int32_t id) { return static_cast<char>(id); }

/// A sequence's rows, and the key that the model computes at each, which depends on all rows up to
/// it.
struct Job {
  std::uint64_t id = 0;
  PrefixKey prefix;
  std::uint32_t choice = 0;         ///< other choices draw other tokens from equal rows
  std::uint64_t seed = 0;           ///< the request's seed, which changes no token here
  bool needs_host = false;          ///< its draws need the host, which knows its earlier tokens
  std::int64_t min_tokens = 0;      ///< tokens before which no end is drawn
  std::vector<std::int32_t> ends;   ///< ids that end the text
  const TextRule* rule = nullptr;   ///< what the text must be; null: anything
  ReasoningBudget reasoning;        ///< its tags have one character
  std::int64_t embedding_rows = 0;  ///< rows of the prompt that are embeddings
  /// Rows before the first embedding.
  std::int64_t token_rows = std::numeric_limits<std::int64_t>::max();
  std::int64_t prompt_rows = 0;
  std::vector<std::int32_t> rows;   ///< bits of embeddings, then ids
  std::vector<std::uint64_t> keys;  ///< by row
  std::int64_t drawn = 0;           ///< tokens drawn so far
  bool is_nan = false;              ///< one of them was NaN
  Job* before = nullptr;            ///< the ended job whose blocks it may take over; null: none
  std::uint32_t admission = 0;      ///< the admission of its last rows
  bool hit = false;                 ///< whether that admission began with cached rows
  std::int64_t rows_valid = std::numeric_limits<std::int64_t>::max();  ///< rows before a NaN

  std::int64_t length() const { return std::ssize(rows); }
  /// Rows whose keys are known.
  std::int64_t known() const { return std::min(length(), rows_valid); }
  std::uint64_t key(std::int64_t row) const { return keys[static_cast<std::size_t>(row)]; }
  std::int32_t row(std::int64_t i) const { return rows[static_cast<std::size_t>(i)]; }
  /// The key of a row, from the key of the row before. Rows that sequences may not share have no
  /// key in common.
  std::uint64_t next_key(std::int64_t row, std::int32_t symbol, std::uint64_t before) const {
    const std::int64_t from = prefix.adapter_from;
    if (row == 0) {
      before = mix(0x7f4a7c15u, from == 0 ? prefix.adapter : 0);
      before = mix(mix(before, prefix.domain[0]), prefix.domain[1]);
    } else if (row == from) {
      before = mix(before, prefix.adapter);
    }
    return mix(before, static_cast<std::uint64_t>(symbol));
  }
  void append(std::int32_t symbol) {
    keys.push_back(next_key(length(), symbol, keys.empty() ? 0 : keys.back()));
    rows.push_back(symbol);
  }
  void truncate(std::int64_t length) {
    rows.resize(static_cast<std::size_t>(length));
    keys.resize(static_cast<std::size_t>(length));
  }
  /// The tokens that may come next, as bits.
  std::uint32_t next(std::int64_t tokens) const {
    if (const std::int32_t id = closing(tokens); id >= 0) return std::uint32_t{1} << id;
    std::uint32_t end_bits = 0;
    for (const std::int32_t id : ends) end_bits |= std::uint32_t{1} << id;
    if (rule != nullptr) return rule->next(tokens, end_bits, min_tokens);
    return tokens >= min_tokens ? ~std::uint32_t{0} : ~end_bits;
  }
  /// Whether a token ends a text of `tokens` tokens, in place of being part of it.
  bool ends_at(std::int64_t tokens, std::int32_t id) const {
    if (closing(tokens) >= 0 || (rule != nullptr && !rule->is_complete(tokens))) return false;
    return std::find(ends.begin(), ends.end(), id) != ends.end();
  }
  /// The token that is drawn from a row with this key.
  std::int32_t draw(std::int64_t row, std::uint64_t key) const {
    const std::uint32_t possible = next(row + 1 - prompt_rows);
    if (possible == 0) return kEndOfText;  // a draft's row may lie behind a complete text
    if (std::has_single_bit(possible)) return std::countr_zero(possible);
    for (std::uint64_t h = mix(key, choice);; h = mix(h, 1)) {
      const auto id = static_cast<std::int32_t>((h & 63) == 0 ? 0 : 1 + (h >> 6) % (kVocab - 1));
      if ((possible >> id & 1) != 0) return id;
    }
  }

  /// The token that must close the reasoning after `tokens` tokens; -1: none.
  std::int32_t closing(std::int64_t tokens) const {
    const std::int64_t inside = reasoning_tokens(tokens);
    if (inside < 0 || inside < reasoning.tokens) return -1;
    const auto closed = static_cast<std::size_t>(inside - reasoning.tokens);
    return closed < reasoning.close.size() ? reasoning.close[closed] : -1;
  }
  /// Whether reasoning may have to be closed later.
  bool may_close(std::int64_t tokens) const {
    if (reasoning.tokens < 0) return false;
    return opening(tokens) < 0 || reasoning_tokens(tokens) >= 0;
  }

 private:
  /// Where the reasoning begins in a text of `tokens` tokens; -1: it may still begin; `tokens`: it
  /// does not.
  std::int64_t opening(std::int64_t tokens) const {
    if (reasoning.open) return 0;
    for (std::int64_t i = 0; i < std::min(tokens, length() - prompt_rows); ++i) {
      const char c = text_of(row(prompt_rows + i));
      if (c == reasoning.begin[0]) return i + 1;
      if (c != '\t' && c != '\n' && c != '\r') return tokens + 1;
    }
    return -1;
  }
  /// Tokens in the reasoning that a text of `tokens` tokens ends in, with the tokens that close it
  /// by force; -1: it ends in none.
  std::int64_t reasoning_tokens(std::int64_t tokens) const {
    if (reasoning.tokens < 0) return -1;
    const std::int64_t first = opening(tokens);
    if (first < 0 || first > tokens) return -1;
    const std::int64_t most = reasoning.tokens + std::ssize(reasoning.close);
    for (std::int64_t i = first; i < std::min(tokens, first + reasoning.tokens); ++i) {
      const bool is_known = prompt_rows + i < length();
      if (is_known && text_of(row(prompt_rows + i)) == reasoning.end[0]) return -1;
    }
    return tokens - first < most ? tokens - first : -1;
  }
};

/// The log-probability that the model gives the token after a row.
inline float score_of(std::uint64_t key) { return -static_cast<float>(key >> 44); }
/// The hidden state that the model gives a row.
inline float hidden_of(std::uint64_t key) { return static_cast<float>(key & 0xfffff); }

}  // namespace ingot::sim
