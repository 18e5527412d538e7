// The floating-point environment that all arithmetic of this engine runs in.
#pragma once

#include <cstdint>

namespace ingot {

/// Sets this thread to round to nearest even, with denormals kept (FTZ and DAZ off), default NaNs
/// off, nothing trapping. A host process, or a library built for fast math, may have changed
/// them.
void set_canonical_fp();

/// Whether this thread's environment is as `set_canonical_fp` leaves it. Sticky exception flags do
/// not count.
bool fp_is_canonical();

/// The canonical environment for as long as it lives; afterwards the thread has what it had before.
class CanonicalFp {
 public:
  CanonicalFp();
  ~CanonicalFp();
  CanonicalFp(const CanonicalFp&) = delete;
  CanonicalFp& operator=(const CanonicalFp&) = delete;

 private:
  std::uint64_t before_;
};

}  // namespace ingot
