// TokenCounts: which ids a sequence holds, and how often, for penalties.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace ingot {

/// The ids of a prompt and of the tokens drawn after it, counted one token at a time.
class TokenCounts {
 public:
  struct Count {
    std::int32_t id = 0;
    std::int32_t generated = 0;  ///< how often it was drawn; 0 if only the prompt has it

    bool operator==(const Count&) const = default;
  };

  void add_prompt(std::int32_t id) { count_of(id); }
  void add_generated(std::int32_t id) { ++count_of(id).generated; }
  /// Each id once, in order of first occurrence.
  std::span<const Count> counts() const { return counts_; }

 private:
  Count& count_of(std::int32_t id);

  std::vector<Count> counts_;
  std::unordered_map<std::int32_t, std::size_t>
      places_;  ///< by id: its place in counts_; never iterated
};

}  // namespace ingot
