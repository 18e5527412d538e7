// CodePoints: a set of Unicode code points, as ranges.
#pragma once

#include <vector>

namespace ingot {

/// The code points from `first` to `last`, both included.
struct CodePointRange {
  char32_t first = 0;
  char32_t last = 0;
  friend bool operator==(const CodePointRange&, const CodePointRange&) = default;
};

/// A set of Unicode scalar values: ascending, disjoint ranges that do not touch. It never contains
/// a surrogate.
class CodePoints {
 public:
  static constexpr char32_t kLast = 0x10FFFF;
  static constexpr char32_t kScalars = kLast + 1 - 0x800;  ///< how many scalar values exist

  CodePoints() = default;
  /// Makes the set of all code points in `ranges`, in any order, without surrogates.
  explicit CodePoints(std::vector<CodePointRange> ranges);
  /// All scalar values.
  static CodePoints all();

  const std::vector<CodePointRange>& ranges() const { return ranges_; }
  bool is_empty() const { return ranges_.empty(); }
  bool contains(char32_t c) const;
  CodePoints complement() const;
  CodePoints united(const CodePoints& other) const;
  CodePoints intersected(const CodePoints& other) const;

 private:
  std::vector<CodePointRange> ranges_;
};

}  // namespace ingot
