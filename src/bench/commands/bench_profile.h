// Prints the profile of a benchmark's steps: times by op, by shape of linear ops, and by layer.
#pragma once

#include <string>
#include <vector>

#include "backend/op_profile.h"
#include "load/json.h"

namespace ingot {

/// Adds the profile's totals by op to a JSON object; with `layers`, also the times by layer.
void set_profile(Json& object, const StepProfile& profile, bool layers);

/// Returns the table of ops as lines of cells. The first line has headings and begins with `title`.
std::vector<std::vector<std::string>> op_cells(const StepProfile& profile, std::string title);

/// Returns the table of layers as lines of cells: microseconds per step, by op.
std::vector<std::vector<std::string>> layer_cells(const StepProfile& profile, std::string title);

}  // namespace ingot
