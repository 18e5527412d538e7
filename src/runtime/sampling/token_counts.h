// TokenCounts: counts how often each token occurs in a sequence, for repetition penalties.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace ingot {

/// The distinct ids of a prompt and of the tokens drawn after it, with their counts.
class TokenCounts {
 public:
  struct Count {
    std::int32_t id = 0;
    std::int32_t generated = 0;  ///< how often the id was drawn; 0 if only the prompt has it

    bool operator==(const Count&) const = default;
  };

  void add_prompt(std::int32_t id) { count_of(id); }
  void add_generated(std::int32_t id) { ++count_of(id).generated; }
  /// One entry for each id, in the order of first occurrence.
  std::span<const Count> counts() const { return counts_; }

 private:
  Count& count_of(std::int32_t id);

  std::vector<Count> counts_;
  std::unordered_map<std::int32_t, std::size_t>
      places_;  ///< index of each id in `counts_`; never iterated
};

}  // namespace ingot
