// Between the structs of the C API and the C++ API's types.
#pragma once

#include <vector>

#include "ingot/ingot.c.h"
#include "ingot/ingot.h"

namespace ingot::api {

/// The same in the C++ API. Errors: Error{kInvalid} for a null pointer.
OpenOptions from_c(const ingot_open_options& options);
Prompt from_c(const ingot_prompt& prompt);
Request from_c(const ingot_request& request);

/// Log-probabilities as the C API shows them: views of `scores`, which stay where they are.
std::vector<ingot_token_logprobs> to_c(const std::vector<TokenLogprobs>& scores);

/// A piece and the struct that shows it. Stays where it is.
struct CDelta {
  CDelta() = default;
  CDelta(const CDelta&) = delete;
  CDelta& operator=(const CDelta&) = delete;

  /// Takes a piece; returns what shows it.
  const ingot_delta* set(Delta&& delta);

  Delta owned{};
  std::vector<ingot_token_logprobs> logprobs{};
  ingot_delta shown{};
};

/// A result and the struct that shows it.
struct CResult : ingot_result {
  explicit CResult(Result&& result);
  CResult(const CResult&) = delete;
  CResult& operator=(const CResult&) = delete;

  Result owned;
  std::vector<ingot_token_logprobs> owned_logprobs;
  std::vector<ingot_token_logprobs> owned_prompt_logprobs;
};

}  // namespace ingot::api
