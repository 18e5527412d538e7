// Where the time of a benchmark's steps went: by op, by shape of linear, by layer.
#pragma once

#include <string>
#include <vector>

#include "backend/op_profile.h"
#include "load/json.h"

namespace ingot {

/// The profile as members of an object: sums over all steps, and by layer where they are wanted.
void set_profile(Json& object, const StepProfile& profile, bool layers);

/// Lines of a table of ops, the first one its head, whose first cell is `title`.
std::vector<std::vector<std::string>> op_cells(const StepProfile& profile, std::string title);

/// The same of layers: microseconds of a step, by the ops that there are.
std::vector<std::vector<std::string>> layer_cells(const StepProfile& profile, std::string title);

}  // namespace ingot
