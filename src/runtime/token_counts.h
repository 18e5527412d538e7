// TokenCounts: which ids a sequence holds, and how often, for penalties.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ingot {

/// The ids of a prompt and its continuation, kept up to date one token at a time.
class TokenCounts {
 public:
  struct Count {
    std::int32_t id = 0;
    std::int32_t generated = 0;
  };

  void add_prompt(std::int32_t id) { counts_.push_back({id, 0}); }
  void add_generated(std::int32_t id) { counts_.push_back({id, 1}); }
  std::span<const Count> counts() const { return counts_; }

 private:
  std::vector<Count> counts_;
};

}  // namespace ingot
