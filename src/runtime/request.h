// Request: a prompt with sampling parameters, limits and scheduling fields; RequestLimits.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/notify.h"
#include "runtime/sampling/sampling_params.h"
#include "runtime/schedule/sequence.h"

namespace ingot {

/// The rows of a prompt for which a request wants hidden states.
enum class HiddenRows { kNone, kLast, kAll };

/// A prompt, and how tokens are drawn after it. `check_request` checks its fields.
struct Request {
  std::vector<std::int32_t> prompt{};  ///< token ids
  std::vector<float> embeddings{};     ///< [embedding_rows, H]: rows before the prompt's tokens
  std::int64_t embedding_rows = 0;
  /// Number of tokens at the end of `prompt` that an earlier request drew. This request continues
  /// the earlier one: random numbers, penalties, min_tokens and stop strings behave as in a single
  /// request. max_tokens counts only new tokens.
  std::int64_t continued = 0;
  SamplingParams sampling{};    ///< `end_ids` are added to the model's own end tokens
  std::int64_t max_tokens = 0;  ///< limit on the number of tokens to draw
  /// Stop strings. The text ends before the first stop string that occurs. Ids and
  /// log-probabilities of the tokens that spell this string are still delivered.
  std::vector<std::string> stop{};
  bool ignore_eos = false;                ///< true if the model's end tokens do not end the text
  std::int32_t prompt_logprobs = -1;      ///< likeliest tokens to report per prompt token; -1 = off
  std::int64_t prompt_logprobs_from = 0;  ///< index of the first prompt token to report on
  bool digest = false;  ///< whether to hash all logits from which tokens are drawn
  HiddenRows hidden = HiddenRows::kNone;  ///< rows to return; requires max_tokens = 0
  bool final_norm = true;                 ///< whether hidden states are taken after the final norm
  // Scheduling and caching. These fields change no bit of the results.
  std::uint64_t tenant = 0;             ///< the API key that its rows and blocks count against
  std::int32_t priority = 0;            ///< smaller values come first; for Policy::kPriority alone
  double first_token_seconds = kNever;  ///< time limit from submission to the first token
  double end_seconds = kNever;          ///< time limit from submission to the end
  std::string_view end_limit = "deadline_ms";  ///< name of `end_seconds` in errors
  double queue_seconds = kNever;               ///< time limit from submission to admission
  /// Made of API key and salt. Requests of different domains never share cached prefixes.
  std::array<std::uint64_t, 2> domain{};
  std::uint64_t adapter = 0;        ///< number of the adapter, new for each load; 0 = none
  std::uint64_t chat_template = 0;  ///< identifies the template, to explain misses; 0 = unknown
  bool reads_cache = true;          ///< whether it may begin with blocks of other requests
  Notify notify{};                  ///< called after each delta and at the end; may be empty
};

/// Limit on the choices of one request.
inline constexpr std::int32_t kChoicesMax = 128;
inline constexpr std::size_t kStopsMax = 64;        ///< limit on the stop strings of a request
inline constexpr std::size_t kStopBytesMax = 1024;  ///< limit on the bytes of a stop string

/// The limits of a model and an engine that requests are checked against.
struct RequestLimits {
  std::int64_t vocab = 0;             ///< number of rows of the embedding matrix
  std::int64_t ids = 0;               ///< number of ids that can be drawn
  std::int64_t hidden = 0;            ///< H: size of a hidden state
  std::int64_t context = 0;           ///< limit on the tokens of a sequence
  std::int32_t prompt_logprobs = -1;  ///< limit on Request::prompt_logprobs; -1 = no scores
  bool text = true;                   ///< whether the engine has a tokenizer
  bool hidden_all = false;            ///< whether steps can give hidden states of all rows
};

/// Checks a request. Errors: Error{kInvalid} that names the wrong parameter (in the API's
/// spelling), its value and the possible values.
void check_request(const Request& request, const RequestLimits& limits);

}  // namespace ingot
