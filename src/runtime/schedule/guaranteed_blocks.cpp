// GuaranteedBlocks: counts the blocks that sequences with a guarantee may still need.
#include "runtime/schedule/guaranteed_blocks.h"

#include <algorithm>
#include <utility>

#include "base/index.h"

namespace ingot {

GuaranteedBlocks::GuaranteedBlocks(const KvCache& cache, std::int32_t rows,
                                   std::int32_t preemptions_max)
    : cache_(cache),
      rows_(rows),
      preemptions_max_(preemptions_max),
      withheld_(to_size(cache.groups())) {}

void GuaranteedBlocks::grant(Sequence& s) {
  s.guaranteed = is_due(s);
  granted_ += s.guaranteed ? 1 : 0;
}

void GuaranteedBlocks::revoke(Sequence& s) {
  granted_ -= std::exchange(s.guaranteed, false) ? 1 : 0;
}

std::int64_t GuaranteedBlocks::blocks_max(const Sequence& s, std::int32_t g) const {
  const std::int64_t total = cache_.pool(g).total();
  const std::int64_t tokens = std::min(s.rows_max, (total + 1) * kBlockTokens);
  return std::min(cache_.group(g).blocks_for(tokens, rows_), total);
}

/// The most blocks of group g that the sequence may still take from the pool.
std::int64_t GuaranteedBlocks::blocks_to_come(const Sequence& s, std::int32_t g) const {
  const std::int64_t held = s.blocks.held(g) - (s.blocks.wanted(g, s.blocks.filled() + 1) > 0);
  return std::max<std::int64_t>(0, blocks_max(s, g) - held);
}

std::int64_t GuaranteedBlocks::reserved(std::span<Sequence* const> running, std::int32_t g) const {
  std::int64_t blocks = 0;
  for (const Sequence* s : running) blocks += s->guaranteed ? blocks_to_come(*s, g) : 0;
  return std::min<std::int64_t>(blocks, cache_.pool(g).available());
}

void GuaranteedBlocks::withhold_all(std::span<Sequence* const> running) {
  std::fill(withheld_.begin(), withheld_.end(), 0);
  if (granted_ == 0) return;
  for (const Sequence* s : running) withhold(*s);
}

void GuaranteedBlocks::add(const Sequence& s, std::int64_t sign) {
  if (!s.guaranteed) return;
  for (std::int32_t g = 0; g < cache_.groups(); ++g)
    at(withheld_, g) += sign * blocks_to_come(s, g);
}

}  // namespace ingot
