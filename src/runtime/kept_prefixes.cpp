// Keeping what ended turns computed, and finding the part that a new one shares.
#include "runtime/kept_prefixes.h"

#include <algorithm>
#include <utility>

namespace ingot {

namespace {

/// Rows that need not leave the model: all before the first that is still wanted, and before the
/// last, from which the next token is drawn.
std::int64_t skippable_rows(const Sequence& s) {
  std::int64_t rows = s.length() - 1;
  if (s.scored < s.scores_end) rows = std::min(rows, s.scored);
  if (s.shown < s.shown_end) rows = std::min(rows, s.shown);
  return rows;
}

std::int64_t common_prefix(const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b) {
  return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
}

}  // namespace

std::vector<KeptPrefixes::Kept>::iterator KeptPrefixes::find(std::uint64_t conversation) {
  return std::find_if(kept_.begin(), kept_.end(),
                      [&](const Kept& k) { return k.conversation == conversation; });
}

void KeptPrefixes::keep(Sequence& s) {
  if (max_ == 0 || s.conversation == 0 || s.computed == 0 || s.given_rows() > 0) return;
  if (const auto before = find(s.conversation); before != kept_.end()) kept_.erase(before);
  if (kept_.size() == max_) drop_oldest();
  s.blocks.truncate(s.computed);
  s.tokens.resize(static_cast<std::size_t>(s.computed));
  kept_.push_back({s.conversation, std::move(s.tokens), std::move(s.blocks)});
}

void KeptPrefixes::resume(Sequence& s) {
  const auto at = s.conversation == 0 ? kept_.end() : find(s.conversation);
  if (at == kept_.end()) return;
  Kept kept = std::move(*at);
  kept_.erase(at);
  const std::int64_t rows = std::min(skippable_rows(s), common_prefix(kept.tokens, s.tokens));
  if (rows == 0 || !kept.blocks.can_truncate(rows)) return;
  kept.blocks.truncate(rows);
  s.blocks = std::move(kept.blocks);
  s.computed = s.cached = rows;
}

bool KeptPrefixes::drop_oldest() {
  if (kept_.empty()) return false;
  kept_.erase(kept_.begin());
  return true;
}

std::int64_t KeptPrefixes::held(std::int32_t g) const {
  std::int64_t blocks = 0;
  for (const Kept& kept : kept_) blocks += kept.blocks.held(g);
  return blocks;
}

}  // namespace ingot
