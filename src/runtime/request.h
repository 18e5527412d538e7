// Request: what is to be continued, and how.
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

/// Which rows of a prompt are wanted as hidden states.
enum class HiddenRows { kNone, kLast, kAll };

/// A prompt and how it goes on. Checked once, by `check_request`.
struct Request {
  std::vector<std::int32_t> prompt{};  ///< token ids
  std::vector<float> embeddings{};     ///< [embedding_rows, H] that stand before `prompt`
  std::int64_t embedding_rows = 0;
  /// So many of the prompt's last tokens were drawn by an earlier request that this one goes on
  /// with: drawing, penalties, min_tokens and stop strings take up where that one ended. max_tokens
  /// counts new tokens alone.
  std::int64_t continued = 0;
  SamplingParams sampling{};  ///< `end_ids`: those that end the text besides the model's
  std::int64_t max_tokens = 0;
  /// The text ends before the first of them. It bounds the text alone: ids and log-probabilities of
  /// the tokens that spelt it are delivered.
  std::vector<std::string> stop{};
  bool ignore_eos = false;                ///< the model's own end tokens are tokens like any other
  std::int32_t prompt_logprobs = -1;      ///< -1 = none; else each prompt token's and so many best
  std::int64_t prompt_logprobs_from = 0;  ///< number of the first prompt token that has them
  bool digest = false;                    ///< of every row of logits that a token is drawn from
  HiddenRows hidden = HiddenRows::kNone;  ///< in place of tokens: max_tokens is 0 then
  bool final_norm = true;                 ///< hidden states after the final norm, or before
  // How it shares the engine with others; none of it changes a bit of what comes out.
  std::uint64_t tenant = 0;   ///< whose share of steps and blocks it counts against: an API key
  std::int32_t priority = 0;  ///< smaller ones first, where the engine's policy looks at it
  double first_token_seconds = kNever;         ///< from now on; refused where it cannot be had
  double end_seconds = kNever;                 ///< likewise, for the last token
  std::string_view end_limit = "deadline_ms";  ///< what errors call `end_seconds`: a literal
  double queue_seconds = kNever;               ///< from now on until it begins to run
  /// Requests of different domains never share computed prefixes: an API key and its salt.
  std::array<std::uint64_t, 2> domain{};
  std::uint64_t adapter = 0;        ///< 0 = none; another one for each time it was loaded
  std::uint64_t chat_template = 0;  ///< that made the prompt; 0 = unknown. Explains misses alone
  bool reads_cache = true;          ///< false: nothing that was computed for others is taken over
  Notify notify{};                  ///< of readers that do not wait in `Stream::next`
};

/// Continuations of one prompt that may be asked for at once.
inline constexpr std::int32_t kChoicesMax = 128;
inline constexpr std::size_t kStopsMax = 64;
inline constexpr std::size_t kStopBytesMax = 1024;

/// What a request has to fit.
struct RequestLimits {
  std::int64_t vocab = 0;             ///< rows of the embedding matrix
  std::int64_t ids = 0;               ///< that can be drawn
  std::int64_t hidden = 0;            ///< H
  std::int64_t context = 0;           ///< tokens of a sequence
  std::int32_t prompt_logprobs = -1;  ///< the most that can be asked for
  bool text = true;                   ///< whether there is a tokenizer
  bool hidden_all = false;            ///< whether all rows of a step can leave as hidden states
};

/// Errors: Error{kInvalid} naming the parameter as the API spells it, its value and what is
/// possible.
void check_request(const Request& request, const RequestLimits& limits);

}  // namespace ingot
