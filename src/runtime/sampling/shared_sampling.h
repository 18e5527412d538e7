// SharedSampling: sampling parameters that can be large, prepared once for all prompts and choices.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/sampling/repeats.h"
#include "runtime/sampling/sampling_params.h"

namespace ingot {

/// The lists of a request that all its prompts and choices share. The submitting thread makes them,
/// because the threads of the engine and of connections have no time to encode and sort.
struct SharedSampling {
  /// Takes `bad_words`, `allowed_token_ids` and `dry_sequence_breakers` out of `params`.
  /// `tokenizer` may be null; then no text is encoded.
  ///
  /// Errors: those of Tokenizer::encode; std::bad_alloc. They leave `params` unchanged.
  SharedSampling(SamplingParams& params, const Tokenizer* tokenizer);

  std::vector<std::vector<std::int32_t>> bad_words;  ///< tokens of the bad words
  std::vector<std::int32_t> allowed;                 ///< the only ids to draw, rising; empty = all
  std::vector<std::string> breakers;                 ///< DRY's sequence breakers
};

/// Returns DRY's history of a prompt; nullopt if DRY does not act. `shared` and `tokenizer`, which
/// may be null, must outlive the history. Errors: std::bad_alloc.
std::optional<RepeatHistory> prompt_repeats(const SamplingParams& params,
                                            const SharedSampling& shared,
                                            std::span<const std::int32_t> prompt,
                                            const Tokenizer* tokenizer);

}  // namespace ingot
