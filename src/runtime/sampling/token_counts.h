// TokenCounts: which ids a sequence holds, and how often, for penalties.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace ingot {

/// The ids of a prompt and its continuation, kept up to date one token at a time.
class TokenCounts {
 public:
  struct Count {
    std::int32_t id = 0;
    std::int32_t generated = 0;  ///< occurrences in the continuation; 0 for the prompt's alone

    bool operator==(const Count&) const = default;
  };

  void add_prompt(std::int32_t id) { count_of(id); }
  void add_generated(std::int32_t id) { ++count_of(id).generated; }
  /// Each id once, in order of first occurrence.
  std::span<const Count> counts() const { return counts_; }

 private:
  Count& count_of(std::int32_t id);

  std::vector<Count> counts_;
  std::unordered_map<std::int32_t, std::size_t> places_;  ///< of ids in counts_; never iterated
};

}  // namespace ingot
