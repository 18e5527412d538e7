// SharedSampling: what the choices of a submission share beside their sampling parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/sampling/repeats.h"
#include "runtime/sampling/sampling_params.h"

namespace ingot {

/// Tokens of bad words, and DRY's history of the prompt. The submitting thread makes both once per
/// submission, because the engine's thread has no time for long computations.
struct SharedSampling {
  /// `tokenizer` may be null, and must outlive this object.
  ///
  /// Errors: those of Tokenizer::encode; std::bad_alloc.
  SharedSampling(const SamplingParams& params, std::span<const std::int32_t> prompt,
                 const Tokenizer* tokenizer);
  SharedSampling(const SharedSampling&) = delete;
  SharedSampling& operator=(const SharedSampling&) = delete;

  std::vector<std::vector<std::int32_t>> bad_words;
  std::vector<std::string> breakers;     ///< DRY's sequence breakers, to which `repeats` refers
  std::optional<RepeatHistory> repeats;  ///< history of the prompt; present if DRY acts
};

}  // namespace ingot
