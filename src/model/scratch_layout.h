// Views of a step's scratch buffers: how the step's rows are cut from buffers of the largest step.
#pragma once

#include "model/forward.h"

namespace ingot {

/// Returns views of the planned buffers, cut to the rows of a step.
Scratch cut(const Scratch& scratch, const Batch& batch);

/// Returns the view with another number of columns, at most as many as it has, without gaps between
/// the rows.
View resized(const View& rows, std::int64_t cols);

}  // namespace ingot
