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
  double arrival = 0;  ///< seconds after the first request's arrival
  std::int64_t prompt_tokens = 1;
  std::int64_t output_tokens = 1;
  /// Each number stands for `Traffic::block_tokens` tokens of the prompt, in order. Equal numbers
  /// stand for equal tokens in all prompts. Empty: the prompt shares no such tokens.
  std::vector<std::uint32_t> blocks{};
};

/// Requests sorted by arrival.
struct Traffic {
  std::vector<PlannedRequest> requests;
  std::int64_t shared_prefix = 0;   ///< number of first tokens that are equal in all prompts
  std::int64_t block_tokens = 512;  ///< number of tokens for each number in `blocks`
};

/// A uniform distribution of lengths in tokens, from `low` to `high`.
struct LengthRange {
  std::int64_t low = 1;
  std::int64_t high = 1;
};

/// The parameters of synthetic traffic.
struct SyntheticTraffic {
  std::int64_t requests = 0;
  double rate = std::numeric_limits<double>::infinity();  ///< requests per second; inf: all at once
  /// Shape of the gamma distribution of arrival gaps: 1 is a Poisson process, below 1 is burstier.
  double burstiness = 1;
  LengthRange input{};  ///< number of prompt tokens after the shared prefix
  LengthRange output{};
  std::int64_t shared_prefix = 0;
  std::uint64_t seed = 0;
};

/// Draws requests. The lengths and arrival gap of request i depend only on `options` and on i.
Traffic synthetic_traffic(const SyntheticTraffic& options);

/// Multiplies all lengths by `factor`. Lengths stay above 0. Also multiplies `shared_prefix` and
/// `block_tokens`, so that shared prefixes stay shared.
void scale_lengths(Traffic& traffic, double factor);

/// The numbers of prompts and of outputs that cut_to_context has cut.
struct CutLengths {
  std::int64_t prompts = 0;
  std::int64_t outputs = 0;
};

/// Cuts requests that are longer than `context` tokens (at least 2). Cuts the output first, but not
/// below half of the context; then cuts the prompt to the remaining room.
CutLengths cut_to_context(Traffic& traffic, std::int64_t context);

/// Returns the length of the longest request in tokens, prompt and output together.
std::int64_t longest_request(const Traffic& traffic);

/// Returns the token ids below `ids` that stand for normal text and are not in `ends`. If no id is
/// left, returns all ids below `ids`. Without a tokenizer, every id counts as normal text.
std::vector<std::int32_t> text_ids(const Tokenizer* tokenizer, std::int64_t ids,
                                   const std::vector<std::int32_t>& ends);

/// The settings of requests, except their lengths.
struct RequestRecipe {
  std::vector<std::int32_t> ids;  ///< token ids for random prompts; not empty
  std::uint64_t seed = 0;
  float temperature = 0;
};

/// Makes the requests of a Traffic. A token depends only on the seed, its position, and the request
/// or shared block. Requests ignore end tokens, so they generate exactly `output_tokens` tokens.
class RequestWriter {
 public:
  RequestWriter(const Traffic& traffic, RequestRecipe recipe);

  /// Makes request `number` of the traffic.
  Request write(std::size_t number) const;

 private:
  std::vector<std::int32_t> prompt(std::size_t number) const;

  const Traffic& traffic_;
  RequestRecipe recipe_;
};

/// Draws `count` distinct numbers below `total`, and sorts them. Returns all numbers below `total`
/// if `count` is larger.
std::vector<std::size_t> draw_sample(std::size_t total, std::size_t count, std::uint64_t seed);

}  // namespace ingot
