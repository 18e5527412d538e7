// Generating text from one prompt, one token after the other.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "runtime/executor.h"
#include "runtime/sampling_params.h"

namespace ingot {

/// How a continuation is drawn and when it ends.
struct GenerateParams {
  std::int64_t tokens_max = 0;
  SamplingParams sampling;
  std::vector<std::int32_t> stop_ids;
  std::int64_t sampled_ids = 0;  ///< ids at and past this are never drawn
};

/// Why a continuation ended.
enum class FinishReason {
  kStop,       ///< a stop token was drawn; it is not among the ids
  kLength,     ///< tokens_max or the context's end
  kCancelled,  ///< the caller said so
};

/// A finished continuation.
struct Generated {
  std::vector<std::int32_t> ids;
  FinishReason finish = FinishReason::kLength;
  std::string digest;  ///< of every row of logits that a token was drawn from
  double prefill_seconds = 0;
  double decode_seconds = 0;
  std::int64_t decode_steps = 0;
};

/// Continues `prompt`, calling `on_token` for each id as it is drawn; false from it ends the text.
///
/// The executor's context has to hold prompt and continuation; its KV pool serves this sequence
/// alone.
/// Errors: Error{kInvalid} for an id outside the vocabulary; Error{kNotFinite} when a row of logits
/// holds NaN or allows no token.
Generated generate(Executor& executor, std::span<const std::int32_t> prompt,
                   const GenerateParams& params, FunctionRef<bool(std::int32_t)> on_token);

}  // namespace ingot
