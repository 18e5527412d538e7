// How large the parts of a request's body may be.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/sampling/sampling_params.h"
#include "text/chat/chat_template.h"

namespace ingot {

/// Bounds on what is counted in a body; whatever is beyond one is refused with 400 and named.
struct InputLimits {
  std::int32_t json_depth = 64;         ///< of arrays and objects within each other
  std::size_t messages = kMessagesMax;  ///< with the system's
  std::size_t stops = 16;               ///< strings
  std::size_t stop_bytes = 256;         ///< of each
  std::size_t stop_ids = 128;
  std::size_t biases = 1024;             ///< tokens in "logit_bias"
  std::int32_t logprobs = kLogprobsMax;  ///< alternatives of a token
};

}  // namespace ingot
