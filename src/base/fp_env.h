// The floating-point environment that all arithmetic of this engine runs in.
#pragma once

namespace ingot {

/// Sets this thread to round to nearest even, with denormals kept (FTZ and DAZ off), default NaNs
/// off, nothing trapping. A host process, or a library built with -ffast-math, may have changed
/// them.
void set_canonical_fp();

/// Whether this thread's environment is as `set_canonical_fp` leaves it. Sticky exception flags do
/// not count.
bool fp_is_canonical();

}  // namespace ingot
