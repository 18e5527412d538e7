// Lines of memory that are asked for before they are needed.
#pragma once

#include "base/inline.h"

namespace ingot {
namespace {

/// Bytes that memory and caches move at once, on all processors that there are tables for.
inline constexpr int kLine = 64;

/// Brings the line that holds `at` into the second cache: memory is read faster so than by way of
/// the first, where rows that lie 4 KiB apart share places too (docs/kernels.md).
INGOT_INLINE void bring_near(const void* at) { __builtin_prefetch(at, 0, 2); }

/// The same for a line that is about to be written.
INGOT_INLINE void bring_near_to_write(const void* at) { __builtin_prefetch(at, 1, 2); }

}  // namespace
}  // namespace ingot
