// SamplingParams: temperature, penalties, top_k, top_p and the other parameters of sampling.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace ingot {

/// A number to add to one token's logit. kBan bans the token.
struct LogitBias {
  std::int32_t id = 0;
  float bias = 0;
};

/// Sampling parameters of a choice, in the order in which the sampler applies them. The defaults
/// leave the row unchanged, and the default temperature 0 takes the most likely token.
struct SamplingParams {
  std::vector<LogitBias> logit_bias{};  ///< biases to add, by ascending id, each id once
  float repetition_penalty = 1;         ///< above 0; values above 1 make repeated ids less likely
  float presence_penalty = 0;           ///< subtracted from the logit of each id that was drawn
  float frequency_penalty = 0;          ///< subtracted from an id's logit for each draw of the id
  std::int64_t min_tokens = 0;          ///< number of tokens to draw before `end_ids` are allowed
  std::vector<std::int32_t> end_ids{};  ///< ids that end the text when drawn
  float temperature = 0;                ///< divides the logits; 0 = take the likeliest token
  std::int32_t top_k = 0;               ///< number of likeliest tokens to keep; 0 or -1 = all
  float typical_p = 1;         ///< total probability of typical tokens to keep, in (0, 1]; 1 = off
  float top_p = 1;             ///< total probability of likely tokens to keep, in [0, 1]; 1 = off
  float min_p = 0;             ///< kept tokens' least share of top probability, in [0, 1]; 0 = off
  std::uint64_t seed = 0;      ///< random seed; equal seeds draw equal tokens from equal rows
  std::uint32_t choice = 0;    ///< index of the choice among its prompt's choices, from 0
  std::int32_t logprobs = -1;  ///< number of likeliest tokens to report; -1 = off
};

inline constexpr float kLogitBiasMax = 100;  ///< largest absolute value of a bias, except kBan
/// The bias of a token that is never drawn.
inline constexpr float kBan = -std::numeric_limits<float>::infinity();
inline constexpr std::int32_t kLogprobsMax = 20;  ///< limit on `logprobs`
inline constexpr std::size_t kEndIdsMax = 1024;   ///< limit on the number of `end_ids`

}  // namespace ingot
