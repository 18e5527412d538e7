// The ranges of sampling parameters.
#include "runtime/sampling/sampling_params.h"

#include "base/error.h"
#include "base/text.h"

namespace ingot {

namespace {

template <class T>
void check_range(const char* name, T value, T least, T most) {
  if (value >= least && value <= most) return;  // NaN is in no range
  throw Error(ErrorCode::kInvalid, cat(std::string_view(name), " is ", value,
                                       ", possible are values from ", least, " to ", most));
}

void check_id(const char* name, std::int32_t id, std::int64_t ids) {
  if (id >= 0 && id < ids) return;
  throw Error(ErrorCode::kInvalid, cat(std::string_view(name), " holds token ", id,
                                       ", possible are tokens from 0 to ", ids - 1));
}

void check_logit_bias(const std::vector<LogitBias>& biases, std::int64_t ids) {
  std::int32_t last = -1;
  for (const auto& [id, bias] : biases) {
    check_id("logit_bias", id, ids);
    check_range(cat("logit_bias of token ", id).c_str(), bias, -kLogitBiasMax, kLogitBiasMax);
    if (id <= last) {
      throw Error(ErrorCode::kInvalid, cat("logit_bias names token ", id, " after token ", last,
                                           ", possible are rising ones, each once"));
    }
    last = id;
  }
}

}  // namespace

void check_sampling(const SamplingParams& params, std::int64_t ids) {
  check_logit_bias(params.logit_bias, ids);
  check_range("repetition_penalty", params.repetition_penalty,
              static_cast<float>(kRepetitionPenaltyMin), kRepetitionPenaltyMax);
  check_range("presence_penalty", params.presence_penalty, -kPenaltyMax, kPenaltyMax);
  check_range("frequency_penalty", params.frequency_penalty, -kPenaltyMax, kPenaltyMax);
  if (params.min_tokens < 0) {
    throw Error(ErrorCode::kInvalid,
                cat("min_tokens is ", params.min_tokens, ", possible are values from 0"));
  }
  if (params.end_ids.size() > kEndIdsMax) {
    throw Error(ErrorCode::kInvalid, cat("stop_token_ids has ", params.end_ids.size(),
                                         " tokens, possible are at most ", kEndIdsMax));
  }
  for (const std::int32_t id : params.end_ids) check_id("stop_token_ids", id, ids);
  check_range("temperature", params.temperature, 0.0f, kTemperatureMax);
  if (params.top_k < -1) {
    throw Error(ErrorCode::kInvalid,
                cat("top_k is ", params.top_k, ", possible are -1 (off), 0 (off) and more"));
  }
  if (!(params.typical_p > 0 && params.typical_p <= 1)) {
    throw Error(ErrorCode::kInvalid, cat("typical_p is ", params.typical_p,
                                         ", possible are values above 0 and up to 1"));
  }
  check_range("top_p", params.top_p, 0.0f, 1.0f);
  check_range("min_p", params.min_p, 0.0f, 1.0f);
  check_range("logprobs", params.logprobs, -1, kLogprobsMax);
}

}  // namespace ingot
