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
  std::int64_t embedding_rows = 0;  ///< rows of the prompt that are embeddings
  std::int64_t prompt_rows = 0;
  std::vector<std::int32_t> rows;   ///< bits of embeddings, then ids
  std::vector<std::uint64_t> keys;  ///< by row
  std::int64_t drawn = 0;           ///< tokens drawn so far
  bool is_nan = false;              ///< one of them was NaN
  std::uint32_t admission = 0;      ///< the admission of its last rows
  bool hit = false;                 ///< whether that admission began with cached rows
  std::int64_t rows_valid = std::numeric_limits<std::int64_t>::max();  ///< rows before a NaN

  std::int64_t length() const { return std::ssize(rows); }
  /// Rows whose keys are known.
  std::int64_t known() const { return std::min(length(), rows_valid); }
  std::uint64_t key(std::int64_t row) const { return keys[static_cast<std::size_t>(row)]; }
  std::int32_t row(std::int64_t i) const { return rows[static_cast<std::size_t>(i)]; }
  /// The key of a row, from the key of the row before. Sequences that may not share have no key in
  /// common.
  std::uint64_t next_key(std::int64_t row, std::int32_t symbol, std::uint64_t before) const {
    if (row == 0) {
      before = mix(0x7f4a7c15u, prefix.adapter);
      before = mix(mix(before, prefix.domain[0]), prefix.domain[1]);
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
