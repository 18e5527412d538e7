// find_cut: weighted radix selection with histograms of the keys' bits.
#include "runtime/sampling/cut.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cfloat>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "base/index.h"

namespace ingot {

namespace {

constexpr int kBinBits = 11;
constexpr std::size_t kBins = std::size_t{1} << kBinBits;
constexpr std::size_t kSortedMax = 32;
/// Number of elements whose bins are compared together. More gain nothing.
constexpr std::size_t kBlock = 64;
/// Most keys of which the k-th is selected without bins, if all weights are 1. With more keys, bins
/// are faster.
constexpr std::size_t kSelectedMax = 256;

/// An integer that rises as the key falls. Equal keys have equal ranks.
std::int32_t rank_of(float key) {
  const auto bits = std::bit_cast<std::int32_t>(key + 0.0f);  // -0 becomes +0
  return ~(bits ^ ((bits >> 31) & 0x7FFFFFFF));
}

/// The search for one cut, and the bin that holds it.
class Search {
 public:
  Search(std::span<const float> keys, std::span<const float> weights, double target)
      : keys_(keys), weights_(weights), target_(std::max(target, DBL_MIN)) {}

  Cut run(std::span<std::int32_t> places);

 private:
  /// Distance of element i's rank from the first rank of the first bin.
  std::uint32_t offset(std::size_t i) const {
    return static_cast<std::uint32_t>(rank_of(keys_[i])) - first_;
  }
  double weight(std::size_t i) const {
    return weights_.empty() ? 1.0 : static_cast<double>(weights_[i]);
  }
  std::size_t bin(std::size_t i) const { return offset(i) >> shift_; }
  void span_bins();
  bool find_bin();
  std::span<std::int32_t> find_members(std::span<std::int32_t> places) const;
  std::span<std::int32_t> refine(std::span<std::int32_t> members);
  Cut selected_cut(std::span<std::int32_t> places);
  Cut sorted_cut(std::span<std::int32_t> members);
  /// Orders by descending key, then ascending index.
  bool is_before(std::int32_t a, std::int32_t b) const {
    const float x = at(keys_, a);
    const float y = at(keys_, b);
    return x != y ? x > y : a < b;
  }

  std::span<const float> keys_;
  std::span<const float> weights_;
  double target_;
  double before_ = 0;        ///< sum of the weights of all elements before the bin
  std::uint32_t first_ = 0;  ///< least rank in the first bin, modulo 2^32
  int shift_ = 0;            ///< a bin is 2^shift ranks wide
  std::size_t found_ = 0;    ///< the bin with the cut
  std::array<double, kBins> mass_;
};

/// Spreads the bins over the ranks that occur.
void Search::span_bins() {
  std::int32_t least = std::numeric_limits<std::int32_t>::max();
  std::int32_t most = std::numeric_limits<std::int32_t>::min();
  for (const float key : keys_) {
    least = std::min(least, rank_of(key));
    most = std::max(most, rank_of(key));
  }
  first_ = static_cast<std::uint32_t>(least);
  const std::uint32_t width = static_cast<std::uint32_t>(most) - first_;
  shift_ = std::max(0, static_cast<int>(std::bit_width(width)) - kBinBits);
}

/// Finds the bin where the sum reaches the target; else the last bin with a weight (returns false).
bool Search::find_bin() {
  double sum = before_;
  for (std::size_t b = 0; b < kBins; ++b) {
    if (mass_[b] == 0) continue;
    found_ = b;
    before_ = sum;
    sum += mass_[b];
    if (sum >= target_) return true;
  }
  return false;
}

/// Writes the indices of the found bin's elements to `places`. Has no branches on keys. Compares
/// the bins of a block first, because the compiler then compares several at once.
std::span<std::int32_t> Search::find_members(std::span<std::int32_t> places) const {
  const std::uint32_t least = first_;
  const auto found = static_cast<std::uint32_t>(found_);
  const int shift = shift_;
  std::array<std::int32_t, kBlock> is_member;
  std::int32_t* next = places.data();
  for (std::size_t first = 0; first < keys_.size(); first += kBlock) {
    const float* keys = keys_.data() + first;
    const std::size_t n = std::min(kBlock, keys_.size() - first);
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t bin = (static_cast<std::uint32_t>(rank_of(keys[i])) - least) >> shift;
      is_member[i] = static_cast<std::int32_t>(bin == found);
    }
    for (std::size_t i = 0; i < n; ++i) {
      *next = static_cast<std::int32_t>(first + i);  // overwritten if the element is no member
      next += is_member[i];
    }
  }
  return places.first(static_cast<std::size_t>(next - places.data()));
}

/// Divides the found bin, which holds `members`, and returns the members of the part with the cut.
/// It has members even if rounding leaves the parts' sum below the bin's.
std::span<std::int32_t> Search::refine(std::span<std::int32_t> members) {
  first_ += static_cast<std::uint32_t>(found_ << shift_);
  shift_ = std::max(0, shift_ - kBinBits);
  mass_.fill(0);
  for (const std::int32_t place : members) {
    const auto i = to_size(place);
    mass_[bin(i)] += weight(i);
  }
  static_cast<void>(find_bin());
  std::size_t count = 0;
  for (const std::int32_t place : members) {
    if (bin(to_size(place)) == found_) members[count++] = place;
  }
  return members.first(count);
}

/// Cuts after as many keys as the target says. For weights of 1.
Cut Search::selected_cut(std::span<std::int32_t> places) {
  const double kept = std::clamp(std::ceil(target_), 1.0, static_cast<double>(places.size()));
  const auto last = places.begin() + static_cast<std::ptrdiff_t>(kept) - 1;
  std::nth_element(places.begin(), last, places.end(),
                   [&](std::int32_t a, std::int32_t b) { return is_before(a, b); });
  return {.key = at(keys_, *last), .last = *last};
}

Cut Search::sorted_cut(std::span<std::int32_t> members) {
  std::sort(members.begin(), members.end(),
            [&](std::int32_t a, std::int32_t b) { return is_before(a, b); });
  std::int32_t last = members.back();
  for (const std::int32_t place : members) {
    before_ += weight(to_size(place));
    if (before_ < target_) continue;
    last = place;
    break;
  }
  return {.key = at(keys_, last), .last = last};
}

Cut Search::run(std::span<std::int32_t> places) {
  if (keys_.size() <= (weights_.empty() ? kSelectedMax : kSortedMax)) {
    std::iota(places.begin(), places.end(), 0);
    return weights_.empty() ? selected_cut(places) : sorted_cut(places);
  }
  span_bins();
  mass_.fill(0);
  for (std::size_t i = 0; i < keys_.size(); ++i) mass_[bin(i)] += weight(i);
  if (!find_bin()) {
    return {.key = -std::numeric_limits<float>::infinity(), .last = std::ssize(keys_) - 1};
  }
  auto members = find_members(places);
  while (members.size() > kSortedMax && shift_ > 0) members = refine(members);
  return sorted_cut(members);
}

}  // namespace

Cut find_cut(std::span<const float> keys, std::span<const float> weights, double target,
             std::span<std::int32_t> places) {
  INGOT_CHECK(!keys.empty() && places.size() >= keys.size() &&
                  (weights.empty() || weights.size() == keys.size()),
              keys.size(), " keys, ", weights.size(), " weights, ", places.size(), " places");
  return Search(keys, weights, target).run(places.first(keys.size()));
}

}  // namespace ingot
