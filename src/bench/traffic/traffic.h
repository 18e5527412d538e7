// Traffic: the requests of a serving benchmark, when each comes and how long it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/request.h"
#include "text/tokenizer/tokenizer.h"

namespace ingot {

/// One request to come.
struct PlannedRequest {
  double arrival = 0;  ///< seconds after the first one
  std::int64_t prompt_tokens = 1;
  std::int64_t output_tokens = 1;
  /// What the prompt consists of, block by block: equal numbers are equal tokens, in whichever
  /// prompt. Empty: tokens of its own.
  std::vector<std::uint32_t> blocks{};
};

/// Requests by rising arrival.
struct Traffic {
  std::vector<PlannedRequest> requests;
  std::int64_t shared_prefix = 0;   ///< first tokens that all prompts have in common
  std::int64_t block_tokens = 512;  ///< of each of `PlannedRequest::blocks`
};

/// Lengths from `low` to `high`, each as likely as the others.
struct LengthRange {
  std::int64_t low = 1;
  std::int64_t high = 1;
};

/// Traffic that is made up.
struct SyntheticTraffic {
  std::int64_t requests = 0;
  double rate = std::numeric_limits<double>::infinity();  ///< a second; infinite = all at once
  /// The shape of the gamma distribution of the gaps: 1 = a Poisson process, less is burstier.
  double burstiness = 1;
  LengthRange input{};  ///< what follows the shared prefix
  LengthRange output{};
  std::int64_t shared_prefix = 0;
  std::uint64_t seed = 0;
};

/// Requests drawn as `options` say: each a function of the seed and its number alone.
Traffic synthetic_traffic(const SyntheticTraffic& options);

/// Multiplies all lengths, those of blocks too; what is shared stays shared. None becomes 0.
void scale_lengths(Traffic& traffic, double factor);

/// How many lengths were cut.
struct CutLengths {
  std::int64_t prompts = 0;
  std::int64_t outputs = 0;
};

/// Cuts what is longer than a context, of at least 2 tokens: an output to what its prompt leaves,
/// but not below half of the context, then the prompt to what is left.
CutLengths cut_to_context(Traffic& traffic, std::int64_t context);

/// Tokens that the longest request takes, prompt and output.
std::int64_t longest_request(const Traffic& traffic);

/// Ids that stand for text, so that a prompt of any of them is like one that somebody wrote: the
/// tokenizer's normal tokens; without one all of `ids`, but for those in `ends`.
std::vector<std::int32_t> text_ids(const Tokenizer* tokenizer, std::int64_t ids,
                                   const std::vector<std::int32_t>& ends);

/// What requests are made with, besides their lengths.
struct RequestRecipe {
  std::vector<std::int32_t> ids;  ///< that prompts are made of; not empty
  std::uint64_t seed = 0;
  float temperature = 0;
};

/// Writes the requests of a traffic: tokens are a function of seed, request (or block) and position
/// alone, and exactly `output_tokens` are asked for, whatever is drawn.
class RequestWriter {
 public:
  RequestWriter(const Traffic& traffic, RequestRecipe recipe);

  /// The request of this number in the traffic.
  Request write(std::size_t number) const;

 private:
  std::vector<std::int32_t> prompt(std::size_t number) const;

  const Traffic& traffic_;
  RequestRecipe recipe_;
};

/// `count` different numbers below `total`, drawn by the seed, rising; all of them where there are
/// no more.
std::vector<std::size_t> draw_sample(std::size_t total, std::size_t count, std::uint64_t seed);

}  // namespace ingot
