// The ranges of sampling parameters.
#include "runtime/sampling_params.h"

#include "base/error.h"
#include "base/text.h"

namespace ingot {

void check_sampling(const SamplingParams& params, std::int64_t ids) {
  if (params.logprobs > kLogprobsMax || !(params.temperature >= 0) || ids < 0) {
    throw Error(ErrorCode::kInvalid, "temperature or logprobs");
  }
}

}  // namespace ingot
