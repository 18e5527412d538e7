// Starts an admitted sequence: shares or adopts blocks, but always computes the last row again.
#include "runtime/schedule/sequence_start.h"

#include <algorithm>
#include <span>
#include <utility>

#include "kv/mutant.h"

namespace ingot {

namespace {

bool reads_cache(const PrefixIndex* prefixes, const Sequence& s) {
  return prefixes != nullptr && s.reads_cache && s.token_rows() > 0;
}

/// Returns the first rows of `s`, which other sequences may find.
std::span<const std::int32_t> first_tokens(const Sequence& s) {
  return std::span(s.tokens).first(to_size(s.token_rows()));
}

/// Shares the prompt's blocks of `from`, except that `s` computes its last row again to have
/// logits. Returns false if the blocks cannot be shared.
bool share_prompt(PrefixIndex* prefixes, Sequence& s, const Sequence& from,
                  std::vector<BlockCopy>& copies) {
  const std::int64_t rows = std::min(s.skippable_rows(), from.computed);
  if (!from.admitted || from.computed < s.length() || !from.blocks.can_share(rows, s.length())) {
    return false;
  }
  if (!s.blocks.fork(from.blocks, s.length(), copies)) return false;
  s.computed = rows;
  if (prefixes != nullptr && from.place.node >= 0) {
    s.place = prefixes->same_place(from.place);
    prefixes->truncate(s.place, s.length());
  }
  return true;
}

}  // namespace

PrefixIndex::Match find_prefix(PrefixIndex* prefixes, const Sequence& s) {
  if (!reads_cache(prefixes, s)) return {};
  return prefixes->find(s.prefix, first_tokens(s), s.skippable_rows(), s.chat_template);
}

std::int64_t rows_to_share(const PrefixIndex* prefixes, const Sequence& s, const Sequence& other) {
  if (!reads_cache(prefixes, s) || other.place.node < 0 || other.prefix != s.prefix) return 0;
  const auto mine = first_tokens(s), others = first_tokens(other);
  const auto ends = std::mismatch(mine.begin(), mine.end(), others.begin(), others.end());
  const std::int64_t rows = std::min<std::int64_t>(ends.first - mine.begin(), s.skippable_rows());
  return rows - rows % kBlockTokens;
}

void start_sequence(PrefixIndex* prefixes, Sequence& s, const PrefixIndex::Match& match,
                    std::vector<BlockCopy>& copies) {
  const Sequence* const from = std::exchange(s.fork_of, nullptr);
  if (from != nullptr && share_prompt(prefixes, s, *from, copies)) return;
  if (!reads_cache(prefixes, s)) return;
  s.place = prefixes->adopt(s.prefix, match, s.blocks, s.chat_template);
  s.computed = std::min(match.rows, s.skippable_rows());
  if (INGOT_MUTANT(11) && s.admissions > 1 && s.computed > 1) ++s.computed;
  if (s.admissions == 1) s.miss = match.miss;
}

}  // namespace ingot
