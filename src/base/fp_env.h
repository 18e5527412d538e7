// Sets the floating-point environment that all arithmetic needs: rounding mode, denormals, traps.
#pragma once

#include <cstdint>

namespace ingot {

/// Sets this thread to round to nearest even, keep denormals (FTZ and DAZ off), and use no default
/// NaNs and no traps. The process, or a library built with fast math, may have set another mode.
void set_canonical_fp();

/// Returns whether this thread has the environment that `set_canonical_fp` sets. Ignores sticky
/// exception flags.
bool fp_is_canonical();

/// Sets the canonical environment for a scope; the destructor restores the previous environment.
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
