// Histogram: finds a value's bucket by binary search.
#include "runtime/observe/histogram.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/index.h"

namespace ingot {

Histogram::Histogram(std::span<const double> bounds) : bounds_(bounds) {
  INGOT_CHECK(bounds.size() <= kBoundsMax, bounds.size(), " bounds, possible are ", kBoundsMax);
  INGOT_CHECK(std::is_sorted(bounds.begin(), bounds.end()), "bounds that do not rise");
}

void Histogram::add(double value) {
  const bool is_number = !std::isnan(value);
  const auto bound = is_number ? std::lower_bound(bounds_.begin(), bounds_.end(), value)  //
                               : bounds_.end();
  ++at(counts_, bound - bounds_.begin());
  ++count_;
  if (is_number) sum_ += value;
}

}  // namespace ingot
