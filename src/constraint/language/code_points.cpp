// CodePoints: a set of Unicode code points, as ranges.
#include "constraint/language/code_points.h"

#include <algorithm>
#include <utility>

namespace ingot {
namespace {

constexpr char32_t kSurrogatesFirst = 0xD800;
constexpr char32_t kSurrogatesLast = 0xDFFF;

/// Appends the part of [first, last] that lies in [low, high].
void append_part(std::vector<CodePointRange>& out, CodePointRange range, char32_t low,
                 char32_t high) {
  const char32_t first = std::max(range.first, low);
  const char32_t last = std::min(range.last, high);
  if (first <= last) out.push_back({first, last});
}

}  // namespace

CodePoints::CodePoints(std::vector<CodePointRange> ranges) {
  std::vector<CodePointRange> parts;
  parts.reserve(ranges.size());
  for (const CodePointRange& range : ranges) {
    append_part(parts, range, 0, kSurrogatesFirst - 1);
    append_part(parts, range, kSurrogatesLast + 1, kLast);
  }
  std::sort(parts.begin(), parts.end(), [](const CodePointRange& a, const CodePointRange& b) {
    return a.first != b.first ? a.first < b.first : a.last < b.last;
  });
  for (const CodePointRange& part : parts) {
    if (!ranges_.empty() && part.first <= ranges_.back().last + 1) {
      ranges_.back().last = std::max(ranges_.back().last, part.last);
    } else {
      ranges_.push_back(part);
    }
  }
}

CodePoints CodePoints::all() { return CodePoints({{0, kLast}}); }

bool CodePoints::contains(char32_t c) const {
  const auto after = std::upper_bound(
      ranges_.begin(), ranges_.end(), c,
      [](char32_t value, const CodePointRange& range) { return value < range.first; });
  return after != ranges_.begin() && c <= std::prev(after)->last;
}

CodePoints CodePoints::complement() const {
  std::vector<CodePointRange> gaps;
  char32_t next = 0;
  for (const CodePointRange& range : ranges_) {
    if (next < range.first) gaps.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kLast) gaps.push_back({next, kLast});
  return CodePoints(std::move(gaps));
}

CodePoints CodePoints::united(const CodePoints& other) const {
  std::vector<CodePointRange> both = ranges_;
  both.insert(both.end(), other.ranges_.begin(), other.ranges_.end());
  return CodePoints(std::move(both));
}

CodePoints CodePoints::intersected(const CodePoints& other) const {
  std::vector<CodePointRange> common;
  auto a = ranges_.begin();
  auto b = other.ranges_.begin();
  while (a != ranges_.end() && b != other.ranges_.end()) {
    append_part(common, *a, b->first, b->last);
    if (a->last < b->last) {
      ++a;
    } else {
      ++b;
    }
  }
  return CodePoints(std::move(common));
}

}  // namespace ingot
