// Converts between the structs of the C API and the types of the C++ API.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "ingot/ingot.c.h"
#include "ingot/ingot.h"

/// The type behind a C handle.
struct ingot_sequence {
  ingot::api::LiveSequence sequence;
};

namespace ingot::api {

/// Makes a span. Errors: Error{kInvalid} naming `name` if `values` is null and `count` is not 0.
template <class T>
std::span<const T> span_of(const char* name, const T* values, std::size_t count) {
  if (values == nullptr && count > 0) {
    throw Error(ErrorCode::kInvalid, std::string(name) + ": a null pointer");
  }
  return {values, count};
}

/// Copies a C string. Errors: Error{kInvalid} naming `name` if `text` is null.
std::string text_of(const char* name, const char* text);
/// Returns the texts as C strings, which are valid as long as `texts` is.
std::vector<const char*> pointers_to(const std::vector<std::string>& texts);

/// Converts a C struct to the C++ type. Errors: Error{kInvalid} if a required pointer is null.
OpenOptions from_c(const ingot_open_options& options);
Prompt from_c(const ingot_prompt& prompt);
Request from_c(const ingot_request& request);
HiddenOptions from_c(const ingot_hidden_options& options);
/// Converts only the ids of a result: `prompt_ids` and `ids`. Other members keep their defaults.
Result from_c(const ingot_result& result);

/// Owns log-probabilities as structs of the C API.
class CLogprobs {
 public:
  CLogprobs() = default;
  explicit CLogprobs(const std::vector<TokenLogprobs>& scores);
  CLogprobs(CLogprobs&&) = default;
  CLogprobs& operator=(CLogprobs&&) = default;
  CLogprobs(const CLogprobs&) = delete;
  CLogprobs& operator=(const CLogprobs&) = delete;

  /// Returns the log-probabilities of size() tokens; null if there are no log-probabilities.
  const ingot_token_logprobs* data() const { return tokens_.empty() ? nullptr : tokens_.data(); }
  std::size_t size() const { return tokens_.size(); }

 private:
  std::vector<ingot_token_score> top_;  ///< most likely tokens of all positions, in one array
  std::vector<ingot_token_logprobs> tokens_;
};

/// A delta, and the C struct `shown` that points into this delta. Not movable.
struct CDelta {
  CDelta() = default;
  CDelta(const CDelta&) = delete;
  CDelta& operator=(const CDelta&) = delete;

  /// Stores a delta. Returns its C struct, which stays valid until the next call.
  const ingot_delta* set(Delta&& delta);

  Delta owned{};
  CLogprobs logprobs{};
  ingot_delta shown{};
};

/// A C struct that points into a C++ result, and owns this result.
struct CResult : ingot_result {
  explicit CResult(Result&& result);
  CResult(const CResult&) = delete;
  CResult& operator=(const CResult&) = delete;

  Result owned;
  CLogprobs owned_logprobs;
  CLogprobs owned_prompt_logprobs;
};

/// A C struct that points into a C++ session, and owns this session.
struct CSession : ingot_session {
  explicit CSession(Session&& session);
  CSession(const CSession&) = delete;
  CSession& operator=(const CSession&) = delete;

  Session owned;
  std::vector<ingot_logit_bias> logit_bias{};
  std::vector<const char*> stop{};
  std::vector<const char*> breakers{};
  std::vector<const char*> bad_words{};
};

}  // namespace ingot::api
