// SamplingParams: how a continuation's tokens are drawn.
#pragma once

#include <cstdint>
#include <vector>

namespace ingot {

/// A value that is added to one token's logit.
struct LogitBias {
  std::int32_t id = 0;
  float bias = 0;
};

/// How tokens are drawn. The members act in their order here. Every default is the neutral value,
/// except that temperature 0 takes the most likely token.
struct SamplingParams {
  std::vector<LogitBias> logit_bias{};  ///< by rising id, each id once
  float repetition_penalty = 1;         ///< above 0; over the ids of prompt and continuation
  float presence_penalty = 0;           ///< over the ids of the continuation alone
  float frequency_penalty = 0;          ///< times an id's count in the continuation
  std::int64_t min_tokens = 0;          ///< before so many, none of `end_ids` can be drawn
  std::vector<std::int32_t> end_ids{};  ///< ids that end the text when drawn
  float temperature = 0;                ///< 0 = the most likely token, ties to the lower id
  std::int32_t top_k = 0;               ///< 0 or -1 = off
  float typical_p = 1;                  ///< in (0, 1]; 1 = off
  float top_p = 1;                      ///< in [0, 1]; 1 = off, 0 = one token
  float min_p = 0;                      ///< in [0, 1]; 0 = off
  std::uint64_t seed = 0;               ///< equal seeds draw equal tokens from equal rows
  std::uint32_t choice = 0;             ///< which of several continuations of one prompt
  std::int32_t logprobs = -1;           ///< -1 = none; else the chosen token's and so many best
};

inline constexpr float kLogitBiasMax = 100;       ///< either sign
inline constexpr std::int32_t kLogprobsMax = 20;  ///< likeliest tokens beside each
inline constexpr std::size_t kEndIdsMax = 1024;

}  // namespace ingot
