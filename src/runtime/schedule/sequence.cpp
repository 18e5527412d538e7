// Sequence: finds which rows are tokens and which are embeddings.
#include "runtime/schedule/sequence.h"

#include <limits>

namespace ingot {

namespace {

/// Returns the first entry that ends after row `i`.
auto entry_after(const std::vector<GivenRows>& given, std::int64_t i) {
  return std::upper_bound(given.begin(), given.end(), i,
                          [](std::int64_t row, const GivenRows& g) { return row < g.end(); });
}

}  // namespace

const GivenRows* Sequence::given_at(std::int64_t i) const {
  const auto entry = entry_after(given, i);
  return entry != given.end() && entry->first <= i ? &*entry : nullptr;
}

std::int64_t Sequence::run_end(std::int64_t i) const {
  const auto entry = entry_after(given, i);
  if (entry == given.end()) return std::numeric_limits<std::int64_t>::max();
  return entry->first <= i ? entry->end() : entry->first;
}

void Sequence::add_given(View rows) {
  if (rows.rows == 0) return;
  given.push_back({.first = length(), .rows = rows});
  tokens.resize(tokens.size() + to_size(rows.rows), kGivenRow);
}

std::int64_t common_rows(const Sequence& a, const Sequence& b) {
  const auto ends =
      std::mismatch(a.tokens.begin(), a.tokens.end(), b.tokens.begin(), b.tokens.end());
  std::int64_t rows = ends.first - a.tokens.begin();
  for (std::size_t i = 0; i < a.given.size() && a.given[i].first < rows; ++i) {
    const GivenRows& x = a.given[i];
    // Rows up to and with x.first are of equal kinds, so entry i of `b` begins with this row too.
    const GivenRows& y = b.given[i];
    if (y.rows.data != x.rows.data) return x.first;
    if (x.rows.rows != y.rows.rows) return std::min({x.end(), y.end(), rows});
  }
  return rows;
}

}  // namespace ingot
