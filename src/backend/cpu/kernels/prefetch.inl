// Functions for kernels that prefetch cache lines.
//
// A function that only prefetches needs INGOT_INLINE. GCC 12 believes that it has no effect, and
// removes calls of it that are not inlined at once. A lambda without the attribute is such a
// function.
#pragma once

#include "base/inline.h"

namespace ingot {
namespace {

/// Bytes of a cache line, the unit that memory and caches move, on all processors with a table.
inline constexpr int kLine = 64;
/// Floats in a cache line.
inline constexpr int kLineFloats = kLine / 4;

/// Prefetches the line with the byte `at` into the second-level cache. The first-level cache would
/// be slower, since rows that lie 4 KiB apart share its places (docs/kernels.md).
INGOT_INLINE void prefetch_line(const void* at) { __builtin_prefetch(at, 0, 2); }

/// Prefetches a line that is about to be written.
INGOT_INLINE void prefetch_to_write(const void* at) { __builtin_prefetch(at, 1, 2); }

}  // namespace
}  // namespace ingot
