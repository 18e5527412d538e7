// Traffic: the requests of a serving benchmark, with arrival times and lengths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/request.h"
#include "text/tokenizer/tokenizer.h"

namespace ingot {

/// One planned request.
struct PlannedRequest {
  double arrival = 0;  ///< seconds after the first one
  std::int64_t prompt_tokens = 1;
  std::int64_t output_tokens = 1;
  /// The prompt's blocks: equal numbers mean equal tokens, across all prompts. Empty: unique
  /// tokens.
  std::vector<std::uint32_t> blocks{};
};

/// Requests sorted by arrival.
struct Traffic {
  std::vector<PlannedRequest> requests;
  std::int64_t shared_prefix = 0;   ///< number of first tokens that all prompts share
  std::int64_t block_tokens = 512;  ///< tokens in each of `PlannedRequest::blocks`
};

/// Lengths from `low` to `high`, uniformly distributed.
struct LengthRange {
  std::int64_t low = 1;
  std::int64_t high = 1;
};

/// The parameters of synthetic traffic.
struct SyntheticTraffic {
  std::int64_t requests = 0;
  double rate =
      std::numeric_limits<double>::infinity();  ///< requests per second; infinite = all at once
  /// The shape of the gamma distribution of the gaps: 1 = a Poisson process, less is burstier.
  double burstiness = 1;
  LengthRange input{};  ///< prompt tokens behind the shared prefix
  LengthRange output{};
  std::int64_t shared_prefix = 0;
  std::uint64_t seed = 0;
};

/// Draws requests by `options`; each depends only on the seed and its number.
Traffic synthetic_traffic(const SyntheticTraffic& options);

/// Multiplies all lengths, also those of blocks; shared prefixes stay shared. Lengths stay above 0.
void scale_lengths(Traffic& traffic, double factor);

/// The number of cut lengths.
struct CutLengths {
  std::int64_t prompts = 0;
  std::int64_t outputs = 0;
};

/// Cuts requests longer than a context of at least 2 tokens: first the output, to the room behind
/// its prompt but not below half of the context; then the prompt, to the remaining room.
CutLengths cut_to_context(Traffic& traffic, std::int64_t context);

/// Prompt and output tokens of the longest request.
std::int64_t longest_request(const Traffic& traffic);

/// The ids of text tokens, for realistic prompts: the tokenizer's normal tokens; without a
/// tokenizer all `ids` except `ends`.
std::vector<std::int32_t> text_ids(const Tokenizer* tokenizer, std::int64_t ids,
                                   const std::vector<std::int32_t>& ends);

/// The settings of requests besides their lengths.
struct RequestRecipe {
  std::vector<std::int32_t> ids;  ///< the ids in prompts; not empty
  std::uint64_t seed = 0;
  float temperature = 0;
};

/// Writes the requests of a traffic. Tokens depend only on seed, request (or block) and position.
/// Each request generates exactly `output_tokens` tokens; end tokens are ignored.
class RequestWriter {
 public:
  RequestWriter(const Traffic& traffic, RequestRecipe recipe);

  /// Request `number` of the traffic.
  Request write(std::size_t number) const;

 private:
  std::vector<std::int32_t> prompt(std::size_t number) const;

  const Traffic& traffic_;
  RequestRecipe recipe_;
};

/// `count` distinct numbers below `total`, drawn with the seed, ascending; all of them when `total`
/// is smaller.
std::vector<std::size_t> draw_sample(std::size_t total, std::size_t count, std::uint64_t seed);

}  // namespace ingot
