// DraftCounts: how many drafts steps verified, and how many were accepted at each position.
#pragma once

#include <array>
#include <cstdint>

#include "base/index.h"

namespace ingot {

/// Limit on the drafts of a sequence in a step.
inline constexpr std::int32_t kDraftsMax = 32;

/// Counts of verified drafts.
struct DraftCounts {
  std::int64_t lists = 0;                                       ///< number of parts with drafts
  std::int64_t drafts = 0;                                      ///< number of drafts
  std::int64_t accepted = 0;                                    ///< number of accepted drafts
  std::array<std::int64_t, to_size(kDraftsMax)> accepted_at{};  ///< by position, from 0

  /// Adds the counts of another step.
  DraftCounts& operator+=(const DraftCounts& other) {
    lists += other.lists;
    drafts += other.drafts;
    accepted += other.accepted;
    for (std::size_t i = 0; i < accepted_at.size(); ++i) accepted_at[i] += other.accepted_at[i];
    return *this;
  }
  /// Counts the drafts of a part.
  void add(std::int32_t count) {
    lists += count > 0 ? 1 : 0;
    drafts += count;
  }
  /// Counts an accepted draft at a position.
  void accept(std::int32_t position) {
    ++accepted;
    ++at(accepted_at, position);
  }
};

}  // namespace ingot
