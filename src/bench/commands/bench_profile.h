// Prints the profile of a benchmark's steps: time by op, by shape of linear, and by layer.
#pragma once

#include <string>
#include <vector>

#include "backend/op_profile.h"
#include "load/json.h"

namespace ingot {

/// Adds the profile to a JSON object: sums over all steps; with `layers`, also by layer.
void set_profile(Json& object, const StepProfile& profile, bool layers);

/// The table of ops as lines of cells. The first line has the headings, beginning with `title`.
std::vector<std::vector<std::string>> op_cells(const StepProfile& profile, std::string title);

/// The table of layers as lines of cells: microseconds per step, by op.
std::vector<std::vector<std::string>> layer_cells(const StepProfile& profile, std::string title);

}  // namespace ingot
