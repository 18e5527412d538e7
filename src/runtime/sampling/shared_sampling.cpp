// SharedSampling: encodes bad words, sorts allowed tokens, and adds prompts to DRY's history.
#include "runtime/sampling/shared_sampling.h"

#include <algorithm>
#include <utility>

#include "runtime/sampling/bad_words.h"

namespace ingot {

SharedSampling::SharedSampling(SamplingParams& params, const Tokenizer* tokenizer) {
  if (tokenizer != nullptr) bad_words = bad_word_tokens(params.bad_words, *tokenizer);
  params.bad_words = {};
  allowed = std::exchange(params.allowed_token_ids, {});
  std::sort(allowed.begin(), allowed.end());
  allowed.erase(std::unique(allowed.begin(), allowed.end()), allowed.end());
  breakers = std::exchange(params.dry_sequence_breakers, {});
}

std::optional<RepeatHistory> prompt_repeats(const SamplingParams& params,
                                            const SharedSampling& shared,
                                            std::span<const std::int32_t> prompt,
                                            const Tokenizer* tokenizer) {
  if (params.dry_multiplier == 0) return std::nullopt;
  RepeatHistory repeats(shared.breakers, tokenizer);
  repeats.reserve(prompt.size());
  for (const std::int32_t id : prompt) repeats.add(id);
  return repeats;
}

}  // namespace ingot
