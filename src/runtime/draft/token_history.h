// TokenHistory: finds where a context's last tokens occurred before, and which tokens followed. For
// drafts by lookup.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/index.h"

namespace ingot {

/// Tokens of a match at least. The search walks places with these two tokens before them. On copies
/// with edits, 1 found more, but less often right: 7.0 tokens a step, 78 % of drafts right, 58
/// places a search; with 2: 7.2, 88 %, 13; with 3: 7.0, 92 %, 5 (drafts of 8 tokens).
inline constexpr std::int64_t kMatchMin = 2;
/// Limit on the tokens of a match. Longer matches count as this long. On copies with edits, a limit
/// of 16 loses 1 % of the tokens a step, and 64 gains 0.1 %.
inline constexpr std::int64_t kMatchMax = 32;
/// Limit on the places that a search compares, so that hostile texts cost little. On copies with
/// edits, 32 loses 6 % of the tokens a step, and no limit gains 0.2 %.
inline constexpr std::int64_t kPlacesMax = 256;

/// The latest tokens of one or more sequences, with an index of their pairs: hash chains, as in
/// LZ77. Negative ids (kBreak, kGivenRow) match nothing.
///
/// Place n is in front of the nth token that was added. It stays the same while later tokens
/// overwrite older ones. Place 0 is none.
///
/// Not thread-safe. Only the constructor allocates memory.
class TokenHistory {
 public:
  /// Stands between two sequences. No match and no continuation goes across it.
  static constexpr std::int32_t kBreak = -1;

  /// An earlier occurrence of a context's last tokens.
  struct Match {
    std::int64_t length = 0;  ///< number of its tokens, at most kMatchMax; 0: nothing found
    std::int64_t place = 0;   ///< the place behind it
  };

  /// Holds the latest tokens, at least `tokens` of them, in 12 to 24 bytes each.
  ///
  /// Errors: std::bad_alloc.
  explicit TokenHistory(std::int64_t tokens);

  /// Returns the bytes that a history of `tokens` tokens takes.
  static std::int64_t bytes(std::int64_t tokens);

  /// Appends tokens, in constant time for each. They overwrite the oldest.
  void add(std::span<const std::int32_t> ids);
  /// Appends a break.
  void add_break() { add_one(kBreak); }
  /// Forgets all tokens, in constant time. Their places are then overwritten.
  void clear() { size_ = 0; }

  /// Finds an earlier occurrence of the last tokens of `context`, which may be this history's own
  /// end or another sequence. A token follows every occurrence, so the history's own end is none.
  ///
  /// Looks at the latest kPlacesMax places with the context's last two tokens before them, or with
  /// others that have an equal hash. Finds the longest of these; the latest, if several are.
  ///
  /// The longer a match, the better its continuation. On copies with edits, 1.2 of 8 tokens are
  /// right behind a match of 2 tokens, 2.0 behind 4, 6.0 behind 8 to 15, and 7.9 behind 32. In
  /// articles, 0.5 are right behind 2 tokens, 0.6 behind 4 and 1.9 behind 8 to 15.
  ///
  /// Cost: at most kPlacesMax * kMatchMax comparisons.
  Match find(std::span<const std::int32_t> context) const;
  /// Copies the tokens that follow a place, up to a break, and returns their number: 0 if the place
  /// is overwritten. Behind the last token, the tokens from the place on repeat, as the text of a
  /// context that is this history's own end may. End other histories with a break.
  std::int64_t continuation(std::int64_t place, std::span<std::int32_t> out) const;

 private:
  struct Cell {
    std::int32_t token = kBreak;
    std::uint32_t earlier = 0;  ///< the place before this token that the chain continues with
  };

  void add_one(std::int32_t id);
  std::size_t bucket(std::int32_t first, std::int32_t second) const;
  std::int64_t common(std::span<const std::int32_t> context, std::int64_t place) const;
  /// Returns whether the token that follows a place is held.
  bool is_held(std::int64_t place) const { return place < end_ && place >= end_ - size_; }
  const Cell& cell(std::int64_t place) const {
    return at(cells_, place & (std::ssize(cells_) - 1));
  }

  /// The token behind each place, in a ring. Its size is a power of two.
  std::vector<Cell> cells_;
  /// The latest place of each hash; as many as cells. Links are the low 32 bits of places; 0: none.
  /// After 2^32 tokens an old link may name a newer place. This makes a chain useless or longer,
  /// but never a match wrong: tokens are compared, and walks are bounded.
  std::vector<std::uint32_t> chains_;
  std::int64_t end_ = 1;   ///< the place behind the last token
  std::int64_t size_ = 0;  ///< number of tokens held
};

}  // namespace ingot
