// Refuses output paths that would overwrite a command's input.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "load/checkpoint.h"

namespace ingot {

/// Refuses the output path `out` if it is a file of `model`, one of `inputs`, or a file in an input
/// folder, because writing would destroy the input while the command reads it. Ignores inputs that
/// are empty or do not exist.
///
/// Errors: Error{kInvalid} naming `option`.
void refuse_own_input(std::string_view option, const std::string& out, const Checkpoint& model,
                      std::vector<std::string> inputs);

}  // namespace ingot
