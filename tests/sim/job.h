// Job: the results of one sequence without an engine, against which the engine's are checked.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "kv/prefix_index.h"
#include "sim/random.h"

namespace ingot::sim {

inline constexpr std::int32_t kVocab = 32;
inline constexpr std::int32_t kEndOfText = 0;

/// Prompts that are no secret.
using Published = std::vector<std::vector<std::int32_t>>;

/// A sequence's rows, and the key that the model computes at each, which depends on all rows up to
/// it.
struct Job {
  explicit Job(const Published& all) : published(all) {}

  const Published& published;
  std::uint64_t id = 0;
  PrefixKey prefix;
  std::uint32_t choice = 0;         ///< other choices draw other tokens from equal rows
  std::int64_t min_tokens = 0;      ///< tokens before which no end is drawn
  std::vector<std::int32_t> ends;   ///< ids that end the text
  std::int64_t embedding_rows = 0;  ///< rows of the prompt that are embeddings
  std::int64_t prompt_rows = 0;
  std::vector<std::int32_t> rows;   ///< bits of embeddings, then ids
  std::vector<std::uint64_t> keys;  ///< by row
  std::int64_t drawn = 0;           ///< tokens drawn so far
  bool is_nan = false;              ///< one of them was NaN
  std::uint32_t admission = 0;      ///< the admission of its last rows
  bool hit = false;                 ///< whether that admission began with cached rows
  std::int64_t rows_valid = std::numeric_limits<std::int64_t>::max();  ///< rows before a NaN

  std::int64_t published_rows = 0;  ///< the first ones, which are those of a published prompt

  std::int64_t length() const { return std::ssize(rows); }
  /// Rows whose keys are known.
  std::int64_t known() const { return std::min(length(), rows_valid); }
  std::uint64_t key(std::int64_t row) const { return keys[static_cast<std::size_t>(row)]; }
  std::int32_t row(std::int64_t i) const { return rows[static_cast<std::size_t>(i)]; }
  /// Whether a published prompt begins with the rows before this one and then has the symbol.
  bool is_published(std::int64_t row, std::int32_t symbol) const {
    const auto goes_on = [&](const std::vector<std::int32_t>& prompt) {
      return row < std::ssize(prompt) && prompt[static_cast<std::size_t>(row)] == symbol &&
             std::equal(prompt.begin(), prompt.begin() + row, rows.begin());
    };
    return row < published_rows ||
           (row == published_rows && std::any_of(published.begin(), published.end(), goes_on));
  }
  /// The key of a row, from that of the row before. From the first row that was not published on,
  /// sequences that may not share have nothing in common.
  std::uint64_t next_key(std::int64_t row, std::int32_t symbol, std::uint64_t before) const {
    if (row == 0) before = mix(0x7f4a7c15u, prefix.adapter);
    if (row == published_rows && !is_published(row, symbol)) {
      before = mix(mix(before, prefix.domain[0]), prefix.domain[1]);
    }
    return mix(before, static_cast<std::uint64_t>(symbol));
  }
  void append(std::int32_t symbol) {
    keys.push_back(next_key(length(), symbol, keys.empty() ? 0 : keys.back()));
    if (is_published(length(), symbol)) ++published_rows;
    rows.push_back(symbol);
  }
  void truncate(std::int64_t length) {
    rows.resize(static_cast<std::size_t>(length));
    keys.resize(static_cast<std::size_t>(length));
    published_rows = std::min(published_rows, length);
  }
  bool is_end(std::int32_t id) const {
    return std::find(ends.begin(), ends.end(), id) != ends.end();
  }
  /// The token that is drawn from a row with this key.
  std::int32_t draw(std::int64_t row, std::uint64_t key) const {
    const bool may_end = row + 1 - prompt_rows >= min_tokens;
    for (std::uint64_t h = mix(key, choice);; h = mix(h, 1)) {
      const auto id = static_cast<std::int32_t>((h & 63) == 0 ? 0 : 1 + (h >> 6) % (kVocab - 1));
      if (may_end || !is_end(id)) return id;
    }
  }
};

/// The text of a token, which is one character.
inline char text_of(std::int32_t id) { return static_cast<char>(id); }

/// The log-probability that the model gives the token after a row.
inline float score_of(std::uint64_t key) { return -static_cast<float>(key >> 44); }
/// The hidden state that the model gives a row.
inline float hidden_of(std::uint64_t key) { return static_cast<float>(key & 0xfffff); }

}  // namespace ingot::sim
