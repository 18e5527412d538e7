// Outputs that would overwrite what a command reads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "load/checkpoint.h"

namespace ingot {

/// Refuses an output path that leads to a file of `model`, to one of `inputs`, or to a file in one
/// of them that is a folder: writing over what is being read would destroy it. Inputs that are
/// empty or do not exist count for nothing.
///
/// Errors: Error{kInvalid} naming `option`.
void refuse_own_input(std::string_view option, const std::string& out, const Checkpoint& model,
                      std::vector<std::string> inputs);

}  // namespace ingot
