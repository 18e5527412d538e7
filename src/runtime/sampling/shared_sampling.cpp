// SharedSampling: encodes bad words and adds the prompt to DRY's history.
#include "runtime/sampling/shared_sampling.h"

#include "runtime/sampling/bad_words.h"

namespace ingot {

SharedSampling::SharedSampling(const SamplingParams& params, std::span<const std::int32_t> prompt,
                               const Tokenizer* tokenizer) {
  if (tokenizer != nullptr) bad_words = bad_word_tokens(params.bad_words, *tokenizer);
  if (params.dry_multiplier == 0) return;
  breakers = params.dry_sequence_breakers;
  repeats.emplace(breakers, tokenizer);
  repeats->reserve(prompt.size());
  for (const std::int32_t id : prompt) repeats->add(id);
}

}  // namespace ingot
