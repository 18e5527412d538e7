// SamplingParams: temperature, penalties, top_k, top_p and the other parameters of sampling.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "backend/ops.h"

namespace ingot {

/// Sampling parameters of a choice; see Sampler for the order in which it applies them. A Sampler
/// takes the ids of `bad_words` and `allowed_token_ids` from its SampleRow. The defaults leave the
/// row unchanged, and the default temperature 0 takes the most likely token.
struct SamplingParams {
  std::vector<LogitBias> logit_bias{};   ///< biases to add, by ascending id, each id once
  float repetition_penalty = 1;          ///< above 0; values above 1 make repeated ids less likely
  float presence_penalty = 0;            ///< subtracted from the logit of each id that was drawn
  float frequency_penalty = 0;           ///< subtracted from an id's logit for each draw of the id
  float dry_multiplier = 0;              ///< DRY's penalty for the shortest repetition; 0 = off
  float dry_base = 1.75f;                ///< factor of DRY's penalty for each further token
  std::int32_t dry_allowed_length = 2;   ///< tokens of the shortest repetition that DRY penalises
  std::int32_t dry_penalty_last_n = -1;  ///< number of last tokens that DRY searches; -1 = all
  /// DRY: texts that no repetition contains.
  std::vector<std::string> dry_sequence_breakers{"\n", ":", "\"", "*"};
  std::int64_t min_tokens = 0;          ///< number of tokens to draw before `end_ids` are allowed
  std::vector<std::int32_t> end_ids{};  ///< ids that end the text when drawn
  /// Texts not to generate: the last token of a text is banned behind the text's other tokens.
  std::vector<std::string> bad_words{};
  std::vector<std::int32_t> allowed_token_ids{};  ///< only ids to draw; empty = all
  float temperature = 0;       ///< divides the logits; 0 = take the likeliest token
  float top_n_sigma = 0;       ///< keeps logits within n deviations of the largest; 0 or less = all
  std::int32_t top_k = 0;      ///< number of likeliest tokens to keep; 0 or -1 = all
  float typical_p = 1;         ///< total probability of typical tokens to keep, in (0, 1]; 1 = off
  float top_p = 1;             ///< total probability of likely tokens to keep, in [0, 1]; 1 = off
  float min_p = 0;             ///< least probability / top probability to keep, in [0, 1]; 0 = off
  std::int32_t mirostat = 0;   ///< 2 = drops tokens above a moving limit of surprise; 0 = off
  float mirostat_tau = 5;      ///< bits of surprise per token to aim at
  float mirostat_eta = 0.1f;   ///< how quickly mirostat's limit follows the drawn tokens
  float xtc_probability = 0;   ///< probability of dropping the likeliest tokens in a draw
  float xtc_threshold = 0.1f;  ///< least probability of a token that XTC drops; above 0.5 = off
  std::uint64_t seed = 0;      ///< random seed; equal seeds draw equal tokens from equal rows
  std::uint32_t choice = 0;    ///< index of the choice among its prompt's choices, from 0
  std::int32_t logprobs = -1;  ///< number of likeliest tokens to report; -1 = off
};

inline constexpr float kLogitBiasMax = 100;  ///< largest absolute value of a bias, except kBan
/// The bias of a token that is never drawn.
inline constexpr float kBan = -std::numeric_limits<float>::infinity();
inline constexpr std::int32_t kLogprobsMax = 20;      ///< limit on `logprobs`
inline constexpr std::size_t kEndIdsMax = 1024;       ///< limit on the number of `end_ids`
inline constexpr std::size_t kBadWordsMax = 256;      ///< limit on the number of `bad_words`
inline constexpr std::size_t kBadWordBytesMax = 128;  ///< limit on the bytes of a bad word
inline constexpr std::size_t kBreakersMax = 32;       ///< limit on the number of sequence breakers
inline constexpr std::size_t kBreakerBytesMax = 40;   ///< limit on the bytes of a sequence breaker

}  // namespace ingot
