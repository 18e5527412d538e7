// TokenCounts: counts how often each token occurs in a sequence, for repetition penalties.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace ingot {

/// Counts how often each id was drawn. Lists the distinct ids of the prompt and the drawn tokens.
class TokenCounts {
 public:
  struct Count {
    std::int32_t id = 0;
    std::int32_t generated = 0;  ///< how often the id was drawn; 0 if only the prompt has the id

    bool operator==(const Count&) const = default;
  };

  void add_prompt(std::int32_t id) { count_of(id); }
  void add_generated(std::int32_t id) { ++count_of(id).generated; }
  /// Returns one entry for each id, in the order of first occurrence.
  std::span<const Count> counts() const { return counts_; }

 private:
  Count& count_of(std::int32_t id);

  std::vector<Count> counts_;
  std::unordered_map<std::int32_t, std::size_t>
      places_;  ///< each id's index in `counts_`; no loop uses this map, because its order varies
};

}  // namespace ingot
