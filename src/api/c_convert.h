// Converts between the structs of the C API and the types of the C++ API.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "ingot/ingot.c.h"
#include "ingot/ingot.h"

namespace ingot::api {

/// C array as a span; `values` may be null if `count` is 0. Errors: Error{kInvalid} naming `name`.
template <class T>
std::span<const T> span_of(const char* name, const T* values, std::size_t count) {
  if (values == nullptr && count > 0) {
    throw Error(ErrorCode::kInvalid, std::string(name) + ": a null pointer");
  }
  return {values, count};
}

/// A C string as std::string. Errors: Error{kInvalid} naming `name` for a null pointer.
std::string text_of(const char* name, const char* text);

/// Converts a C struct to the C++ type. Errors: Error{kInvalid} for a null pointer.
OpenOptions from_c(const ingot_open_options& options);
Prompt from_c(const ingot_prompt& prompt);
Request from_c(const ingot_request& request);
/// A C++ result that has only the ids of the C result.
Result from_c(const ingot_result& result);

/// Log-probabilities in structs of the C API, which this object owns.
class CLogprobs {
 public:
  CLogprobs() = default;
  explicit CLogprobs(const std::vector<TokenLogprobs>& scores);
  CLogprobs(CLogprobs&&) = default;
  CLogprobs& operator=(CLogprobs&&) = default;
  CLogprobs(const CLogprobs&) = delete;
  CLogprobs& operator=(const CLogprobs&) = delete;

  /// The log-probabilities; null if there are none.
  const ingot_token_logprobs* data() const { return tokens_.empty() ? nullptr : tokens_.data(); }
  std::size_t size() const { return tokens_.size(); }

 private:
  std::vector<ingot_token_score> top_;  ///< most likely tokens of all positions, in one list
  std::vector<ingot_token_logprobs> tokens_;
};

/// A delta and the C struct that points into it. Not movable.
struct CDelta {
  CDelta() = default;
  CDelta(const CDelta&) = delete;
  CDelta& operator=(const CDelta&) = delete;

  /// Stores a delta; returns its C struct.
  const ingot_delta* set(Delta&& delta);

  Delta owned{};
  CLogprobs logprobs{};
  ingot_delta shown{};
};

/// A result and the C struct that points into it.
struct CResult : ingot_result {
  explicit CResult(Result&& result);
  CResult(const CResult&) = delete;
  CResult& operator=(const CResult&) = delete;

  Result owned;
  CLogprobs owned_logprobs;
  CLogprobs owned_prompt_logprobs;
};

/// A session and the C struct that points into it.
struct CSession : ingot_session {
  explicit CSession(Session&& session);
  CSession(const CSession&) = delete;
  CSession& operator=(const CSession&) = delete;

  Session owned;
  std::vector<ingot_logit_bias> logit_bias{};
  std::vector<const char*> stop{};
};

}  // namespace ingot::api
