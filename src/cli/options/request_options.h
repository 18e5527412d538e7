// The options that say how a prompt is continued.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/instance.h"
#include "runtime/request.h"

namespace CLI {
class App;
}

namespace ingot {

/// Values of the flags as the command line gave them.
struct RequestOptionValues {
  std::int64_t max_tokens = 256;
  double temperature = 0;
  std::int32_t top_k = 0;
  double top_p = 1;
  double min_p = 0;
  double typical_p = 1;
  double repetition_penalty = 1;
  double presence_penalty = 0;
  double frequency_penalty = 0;
  std::optional<std::string> logit_bias{};
  std::uint64_t seed = 0;
  std::vector<std::string> stop{};
  std::vector<std::string> stop_token{};
  std::int64_t min_tokens = 0;
  bool ignore_eos = false;
  std::int32_t logprobs = -1;
  std::int32_t prompt_logprobs = -1;
};

/// Declares the flags on a command.
void add_request_options(CLI::App& app, RequestOptionValues& values);
/// Those of log-probabilities, for commands that print them.
void add_logprob_options(CLI::App& app, RequestOptionValues& values);

/// A request without its prompt. Errors: Error{kInvalid} naming the flag.
Request make_request(const RequestOptionValues& values, std::int64_t ids);

/// Sets what the command line of `app` gave flags for to what `flags` says.
void apply_given(Request& request, const Request& flags, const CLI::App& app);

/// What a request of this model may ask for, with --ctx `ctx` (0 = the model's).
RequestLimits request_limits(const Instance& instance, std::int64_t ctx);

}  // namespace ingot
