// Prints the profile of a benchmark's steps: time by op, by shape of linear, by layer.
#pragma once

#include <string>
#include <vector>

#include "backend/op_profile.h"
#include "load/json.h"

namespace ingot {

/// Adds the profile to an object: sums over all steps, and by layer with `layers`.
void set_profile(Json& object, const StepProfile& profile, bool layers);

/// The lines of a table of ops; the first line is the head, and its first cell `title`.
std::vector<std::vector<std::string>> op_cells(const StepProfile& profile, std::string title);

/// The lines of a table of layers: microseconds per step, by op.
std::vector<std::vector<std::string>> layer_cells(const StepProfile& profile, std::string title);

}  // namespace ingot
