// SymbolMerger: the BPE merge loop. It merges neighbouring symbols, the best-ranked pair first.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "base/check.h"
#include "base/index.h"

namespace ingot {

/// Merges neighbouring symbols of a text. A symbol is a range of positions. Reusable for new texts.
///
/// One bit per position marks the start of a symbol. A candidate is a pair that may merge. The
/// first candidates lie in a sorted list, newer candidates in a heap. At most 1.5 candidates of 8
/// bytes exist per symbol, so memory is a small multiple of the text's size.
class SymbolMerger {
 public:
  /// The rank of a pair that never merges. Pairs with smaller ranks merge first.
  static constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();

  /// Begins a new text of `positions` positions, without symbols.
  void reset(std::size_t positions) {
    INGOT_CHECK(positions < kNever, positions, " positions in one text");
    size_ = positions;
    starts_.assign(positions / 64 + 1, 0);
    mark(positions);
  }
  /// Marks position `at` as the start of a symbol. The first symbol must start at 0.
  void mark(std::size_t at) { starts_[at / 64] |= std::uint64_t{1} << (at % 64); }

  /// Returns the end of the symbol that starts at `at`. The next symbol starts there.
  std::size_t end_of(std::size_t at) const {
    std::size_t word = (at + 1) / 64;
    std::uint64_t bits = starts_[word] & (~std::uint64_t{0} << ((at + 1) % 64));
    while (bits == 0) bits = starts_[++word];
    return word * 64 + to_size(std::countr_zero(bits));
  }

  /// Merges the leftmost pair with the smallest rank, again and again, until no pair can merge.
  ///
  /// `rank(left, right, end)` ranks the symbols [left, right) and [right, end), or returns kNever.
  /// `run` calls `merged(left, rank)` after each merge; the new symbol starts at `left`.
  /// Cost:    O(n log n) for n symbols; one call of `rank` per candidate pushed or popped.
  template <class Rank, class Merged>
  void run(const Rank& rank, const Merged& merged) {
    std::size_t symbols = 0;
    for (const std::uint64_t word : starts_) {
      symbols += to_size(std::popcount(word));
    }
    if (symbols <= kFewSymbols) return run_few(rank, merged);
    // Above this number of candidates, at least a third are outdated: `collect` rebuilds the list.
    // This happens at most four times, because a merge adds at most two candidates.
    const std::size_t candidates_max = symbols + symbols / 2;
    sorted_.reserve(candidates_max + 2);
    heap_.reserve(symbols / 2 + 2);
    collect(rank);
    while (next_ < sorted_.size() || !heap_.empty()) {
      const std::uint64_t best = take_best();
      const std::size_t left = best & kNever;
      const auto best_rank = static_cast<std::uint32_t>(best >> 32);
      if (!is_start(left)) continue;
      const std::size_t right = end_of(left);
      if (right == size_) continue;
      const std::size_t end = end_of(right);
      // The candidate's symbols may have merged meanwhile. The candidate counts only if the pair at
      // `left` still has the candidate's rank.
      if (rank(left, right, end) != best_rank) continue;
      starts_[right / 64] &= ~(std::uint64_t{1} << (right % 64));
      merged(left, best_rank);
      if (left > 0) push(rank, start_before(left), left, end);
      if (end < size_) push(rank, left, end, end_of(end));
      if (sorted_.size() - next_ + heap_.size() > candidates_max) collect(rank);
    }
  }

 private:
  /// `run` uses the faster `run_few` for texts of up to this many symbols. Most words have fewer.
  static constexpr std::size_t kFewSymbols = 32;

  /// Merges as `run` does, but scans all pairs for each merge. This is cheaper for few symbols.
  template <class Rank, class Merged>
  void run_few(const Rank& rank, const Merged& merged) {
    std::array<std::size_t, kFewSymbols + 1> starts;   // start of each symbol, then the text's end
    std::array<std::uint32_t, kFewSymbols + 1> ranks;  // rank of each pair of neighbouring symbols
    std::size_t count = 0;
    for (std::size_t at = 0; at < size_; at = end_of(at)) starts[count++] = at;
    starts[count] = size_;
    std::size_t pairs = count < 2 ? 0 : count - 1;
    const auto rank_of = [&](std::size_t i) {
      return rank(starts[i], starts[i + 1], starts[i + 2]);
    };
    for (std::size_t i = 0; i < pairs; ++i) ranks[i] = rank_of(i);
    while (pairs > 0) {
      auto* const best = std::min_element(ranks.data(), ranks.data() + pairs);
      if (*best == kNever) return;
      const auto left = to_size(best - ranks.data());
      const std::size_t right = starts[left + 1];
      starts_[right / 64] &= ~(std::uint64_t{1} << (right % 64));
      merged(starts[left], *best);
      std::copy(best + 1, ranks.data() + pairs, best);
      std::copy(&starts[left + 2], &starts[pairs + 1] + 1, &starts[left + 1]);
      --pairs;
      if (left > 0) ranks[left - 1] = rank_of(left - 1);
      if (left < pairs) ranks[left] = rank_of(left);
    }
  }

  bool is_start(std::size_t at) const { return (starts_[at / 64] >> (at % 64) & 1) != 0; }

  std::size_t start_before(std::size_t at) const {
    std::size_t word = (at - 1) / 64;
    std::uint64_t bits = starts_[word] & (~std::uint64_t{0} >> (63 - (at - 1) % 64));
    while (bits == 0) bits = starts_[--word];
    return word * 64 + 63 - to_size(std::countl_zero(bits));
  }

  static std::uint64_t entry(std::uint32_t rank, std::size_t left) {
    return std::uint64_t{rank} << 32 | left;
  }

  template <class Rank>
  void push(const Rank& rank, std::size_t left, std::size_t right, std::size_t end) {
    const std::uint32_t r = rank(left, right, end);
    if (r == kNever) return;
    heap_.push_back(entry(r, left));
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }

  /// Removes and returns the candidate with the smallest rank.
  std::uint64_t take_best() {
    const bool heap_is_first =
        next_ == sorted_.size() || (!heap_.empty() && heap_.front() < sorted_[next_]);
    if (!heap_is_first) return sorted_[next_++];
    if (heap_.size() > kFewSymbols && 8 * heap_.size() >= sorted_.size() - next_) {
      sort_heap_in();
      return sorted_[next_++];
    }
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const std::uint64_t best = heap_.back();
    heap_.pop_back();
    return best;
  }

  /// Merges the heap into the sorted list. This is cheaper than popping each candidate of a large
  /// heap, especially if the candidates arrived in order.
  void sort_heap_in() {
    sort(heap_);
    sorted_.erase(sorted_.begin(), sorted_.begin() + static_cast<std::ptrdiff_t>(next_));
    next_ = 0;
    // Merges from the end, where sorted_ has room. No entry moves twice, and no buffer is needed.
    std::size_t old = sorted_.size();
    sorted_.resize(old + heap_.size());
    for (std::size_t added = heap_.size(); added > 0;) {
      const std::size_t to = old + added - 1;
      const bool old_is_last = old > 0 && sorted_[old - 1] > heap_[added - 1];
      sorted_[to] = old_is_last ? sorted_[--old] : heap_[--added];
    }
    heap_.clear();
  }

  /// Rebuilds the list of candidates from the current pairs.
  template <class Rank>
  void collect(const Rank& rank) {
    sorted_.clear();
    heap_.clear();
    next_ = 0;
    if (size_ == 0) return;
    for (std::size_t left = 0, right = end_of(0); right < size_;) {
      const std::size_t end = end_of(right);
      const std::uint32_t r = rank(left, right, end);
      if (r != kNever) sorted_.push_back(entry(r, left));
      left = right;
      right = end;
    }
    sort(sorted_);
  }

  static void sort(std::vector<std::uint64_t>& entries) {
    if (!std::is_sorted(entries.begin(), entries.end())) std::sort(entries.begin(), entries.end());
  }

  std::vector<std::uint64_t> starts_;
  std::vector<std::uint64_t> sorted_;
  std::size_t next_ = 0;  // index of the first remaining entry of sorted_
  std::vector<std::uint64_t> heap_;
  std::size_t size_ = 0;
};

}  // namespace ingot
