// The floating-point environment of all the engine's arithmetic: rounding mode, denormals, traps.
#pragma once

#include <cstdint>

namespace ingot {

/// Sets this thread to round to nearest even, with denormals (FTZ and DAZ off), without default
/// NaNs and traps. The host process, or a library built for fast math, may have set something else.
void set_canonical_fp();

/// Whether this thread's environment is as `set_canonical_fp` leaves it. Sticky exception flags do
/// not count.
bool fp_is_canonical();

/// Sets the canonical environment in a scope; the destructor restores the previous one.
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
