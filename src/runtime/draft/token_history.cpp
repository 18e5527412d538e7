// TokenHistory: hash chains of token pairs over a ring of tokens.
#include "runtime/draft/token_history.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace ingot {

namespace {

/// Cells at least: a token, and the pair before it.
constexpr std::int64_t kCellsMin = 4;
/// Cells at most, so that the low 32 bits of a place tell whether it is held.
constexpr std::int64_t kCellsMax = std::int64_t{1} << 30;

std::size_t cell_count(std::int64_t tokens) {
  INGOT_CHECK(tokens >= 0 && tokens <= kCellsMax, "a history of ", tokens, " tokens");
  return std::bit_ceil(to_size(std::max(tokens, kCellsMin)));
}

}  // namespace

TokenHistory::TokenHistory(std::int64_t tokens)
    : cells_(cell_count(tokens)), chains_(cells_.size()) {}

std::int64_t TokenHistory::bytes(std::int64_t tokens) {
  return static_cast<std::int64_t>(cell_count(tokens) * (sizeof(Cell) + sizeof(std::uint32_t)));
}

/// Multiplies by 2^64 / phi, whose high bits depend on all bits of the pair.
std::size_t TokenHistory::bucket(std::int32_t first, std::int32_t second) const {
  const std::uint64_t pair = static_cast<std::uint64_t>(static_cast<std::uint32_t>(first)) << 32 |
                             static_cast<std::uint32_t>(second);
  return pair * 0x9E3779B97F4A7C15u >> (64 - std::countr_zero(chains_.size()));
}

void TokenHistory::add(std::span<const std::int32_t> ids) {
  for (const std::int32_t id : ids) add_one(id);
}

/// A place enters the index with the token behind it, so that every place has one. Matches of pairs
/// with a break, or with tokens that are not held, fail in `common`.
void TokenHistory::add_one(std::int32_t id) {
  Cell added{.token = id};
  if (id >= 0) {
    std::uint32_t& chain = chains_[bucket(cell(end_ - 2).token, cell(end_ - 1).token)];
    added.earlier = chain;
    chain = static_cast<std::uint32_t>(end_);
  }
  at(cells_, end_ & (std::ssize(cells_) - 1)) = added;
  ++end_;
  size_ = std::min(size_ + 1, std::ssize(cells_));
}

/// Returns how many tokens before a place equal the context's last.
std::int64_t TokenHistory::common(std::span<const std::int32_t> context, std::int64_t place) const {
  const std::int64_t before = place - (end_ - size_);
  const std::int64_t most = std::min({std::ssize(context), before, kMatchMax});
  std::int64_t length = 0;
  while (length < most) {
    const std::int32_t id = at(context, std::ssize(context) - 1 - length);
    if (id < 0 || id != cell(place - 1 - length).token) break;
    ++length;
  }
  return length;
}

TokenHistory::Match TokenHistory::find(std::span<const std::int32_t> context) const {
  Match best;
  const std::int64_t count = std::ssize(context);
  if (count < kMatchMin) return best;
  std::uint32_t link = chains_[bucket(at(context, count - 2), at(context, count - 1))];
  for (std::int64_t places = 0; places < kPlacesMax; ++places) {
    const std::int64_t place = end_ - (static_cast<std::uint32_t>(end_) - link);
    if (!is_held(place)) break;
    const std::int64_t length = common(context, place);
    if (length >= kMatchMin && length > best.length) best = {.length = length, .place = place};
    if (length == std::min(count, kMatchMax)) break;
    link = cell(place).earlier;
  }
  return best;
}

std::int64_t TokenHistory::continuation(std::int64_t place, std::span<std::int32_t> out) const {
  if (!is_held(place)) return 0;
  std::int64_t count = 0;
  for (std::int32_t& next : out) {
    const std::int64_t from = place + count;
    const std::int32_t id = from < end_ ? cell(from).token : at(out, from - end_);
    if (id < 0) break;
    next = id;
    ++count;
  }
  return count;
}

}  // namespace ingot
