// Request: a prompt with sampling parameters, limits and scheduling fields; RequestLimits.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/adapters/adapter_list.h"
#include "runtime/draft/speculation_options.h"
#include "runtime/notify.h"
#include "runtime/sampling/sampling_params.h"
#include "runtime/schedule/sequence.h"

namespace ingot {

class LiveToken;
struct Constraint;
struct SharedSampling;

/// The rows of a prompt for which a request wants hidden states. kRange: Request::hidden_range.
enum class HiddenRows { kNone, kLast, kAll, kRange };

/// Rows [first, end) of a prompt.
struct RowRange {
  std::int64_t first = 0;
  std::int64_t end = 0;
};

/// Consecutive rows of a prompt that are embeddings. The values never change; copies share them.
struct EmbeddingRows {
  std::int64_t first = 0;  ///< index of the first row in the prompt
  std::int64_t rows = 0;
  std::int64_t cols = 0;                ///< hidden size
  std::shared_ptr<const float> values;  ///< [rows, cols]

  std::int64_t end() const { return first + rows; }
};

/// A limit on the tokens of a reply's reasoning block. The block opens at the beginning of the
/// reply, or already in the prompt.
struct ReasoningBudget {
  std::int64_t tokens = -1;  ///< limit on the tokens inside the block; -1 = no limit
  bool open = false;         ///< whether the prompt ends inside the block
  std::string begin{};       ///< text that opens the block; empty: only the prompt opens it
  std::string end{};         ///< text that closes the block
  std::vector<std::int32_t>
      close{};  ///< tokens that follow without a draw when the limit is reached
};

/// A prompt, and how to draw the tokens after it. `check_request` checks the fields.
struct Request {
  std::vector<std::int32_t> prompt{};  ///< a token id for each row; kGivenRow: see `embeddings`
  /// Token type of each row of `prompt`: 0 for the first text of a pair, 1 for the second. Empty:
  /// all 0.
  std::vector<std::int32_t> types{};
  /// The prompt's rows that are embeddings, in the order of rows: see `append_embeddings`.
  std::vector<EmbeddingRows> embeddings{};
  /// Number of tokens at the end of `prompt` that an earlier request drew. This request continues
  /// that request: random numbers, penalties, min_tokens and stop strings behave as in a single
  /// request. But max_tokens counts only new tokens.
  std::int64_t continued = 0;
  /// Lists that were taken out of `sampling`: see Inbox::prepare. Null: they are still there.
  std::shared_ptr<const SharedSampling> shared{};
  SamplingParams sampling{};    ///< how to draw; `end_ids` extend the model's own end tokens
  std::int64_t max_tokens = 0;  ///< limit on the number of tokens to draw
  /// Stop strings. The text ends at the first stop string that occurs: see `include_stop`. The
  /// reader still gets the ids and log-probabilities of the tokens that spell this string.
  std::vector<std::string> stop{};
  bool include_stop = false;  ///< whether the text keeps the stop string or stop token
  /// Whether to continue after the model's end tokens. A text with a constraint still ends where
  /// the constraint allows nothing more.
  bool ignore_eos = false;
  /// What the text must be; null: anything. The text ends only where it is complete. Stop strings
  /// do not apply. Tokens in `end_ids` end the text where it is complete; elsewhere they are text.
  std::shared_ptr<const Constraint> constraint{};
  std::vector<std::int32_t> markers{};    ///< control tokens that the text keeps by their names
  ReasoningBudget reasoning{};            ///< thinking_budget
  std::int32_t prompt_logprobs = -1;      ///< number of likeliest tokens per prompt token; -1 = off
  std::int64_t prompt_logprobs_from = 0;  ///< index of the first prompt token to score
  bool digest = false;  ///< whether to hash all logits from which the engine draws
  HiddenRows hidden = HiddenRows::kNone;  ///< rows of hidden states to return; needs max_tokens = 0
  RowRange hidden_range{};                ///< with HiddenRows::kRange
  bool final_norm = true;                 ///< whether to apply the final norm to hidden states
  bool pooled = false;  ///< whether to return the pooled result; needs max_tokens = 0
  // Scheduling and caching. These fields change no bit of the results.
  std::uint64_t tenant = 0;             ///< tenant whose shares the request uses; 0 = no key
  std::int32_t priority = 0;            ///< smaller values come first; only for Policy::kPriority
  double first_token_seconds = kNever;  ///< limit on seconds from submission to the first token
  double end_seconds = kNever;          ///< limit on seconds from submission to the end
  double elapsed_seconds = 0;           ///< seconds of `end_seconds` that passed before submission
  std::string_view end_limit = "deadline_ms";  ///< name of `end_seconds` in errors
  double queue_seconds = kNever;               ///< limit on seconds from submission to admission
  /// The domain, made of API key and salt. Requests of different domains share no cached prefixes.
  std::array<std::uint64_t, 2> domain{};
  std::shared_ptr<const AdapterList> adapters{};  ///< null: none
  std::uint64_t chat_template = 0;  ///< identifies the template, to explain misses; 0 = unknown
  bool reads_cache = true;          ///< whether the request may reuse other requests' cached blocks
  RequestSpeculation speculation{};  ///< which drafts the request uses; they change no token
  /// The text that is expected, as tokens: drafts until it ends. Empty: none.
  std::vector<std::int32_t> prediction{};
  /// The live sequence whose rows the prompt begins with; null: none. All its earlier requests must
  /// have ended. The request must have one choice.
  std::shared_ptr<const LiveToken> live{};
  Notify notify{};  ///< called after each delta and at the end; may be empty
};

/// Returns the first row with adapters: see AdapterList. 0 without adapters; -1 if the prompt lacks
/// the invocation tokens. Tokens that an earlier request drew do not count.
std::int64_t first_adapted_row(const Request& request);

/// Limit on the choices of one request.
inline constexpr std::int32_t kChoicesMax = 128;
inline constexpr std::size_t kStopsMax = 64;        ///< limit on the stop strings of a request
inline constexpr std::size_t kStopBytesMax = 1024;  ///< limit on the bytes of a stop string
inline constexpr std::size_t kMarkersMax = 256;     ///< limit on Request::markers
inline constexpr std::size_t kCloseIdsMax = 256;    ///< limit on ReasoningBudget::close

/// The limits of a model and an engine, against which `check_request` checks requests.
struct RequestLimits {
  std::int64_t vocab = 0;             ///< vocabulary size: number of rows of the embedding matrix
  std::int64_t ids = 0;               ///< number of ids that the engine can draw
  std::int64_t hidden = 0;            ///< H: size of a hidden state
  bool embeddings = true;             ///< whether rows can be embeddings: Spec::takes_embeddings
  std::int64_t context = 0;           ///< limit on the tokens of a sequence
  std::int32_t prompt_logprobs = -1;  ///< limit on Request::prompt_logprobs; -1 = no scores
  bool text = true;                   ///< whether the engine has a tokenizer
  bool hidden_all = false;            ///< whether steps can give hidden states of all rows
  bool embedding = true;    ///< whether the model has its embedding matrix, which tokens need
  bool head = true;         ///< whether the model has its output head, which draws tokens
  std::int64_t types = 0;   ///< number of the model's token types; 0: it has no types
  std::int64_t pooled = 0;  ///< number of values of a pooled result; 0: steps do not pool
  /// Limit on the rows of a sequence that one step must compute; 0: several steps may compute any
  /// sequence. See `is_whole`.
  std::int64_t whole_rows = 0;
  std::int32_t draft_rows = 0;  ///< limit on the drafts of a step; 0: requests cannot use drafts
  bool draft_model = false;     ///< whether the engine drafts with a model
};

/// Appends rows of embeddings to a prompt. Shapes: `values` is [n, hidden].
///
/// Errors: Error{kInvalid} if `values` is not a whole number of rows, or if a value is not finite.
void append_embeddings(Request& request, std::vector<float> values, std::int64_t hidden);

/// Returns whether one step must compute all rows of the request's sequence: their results depend
/// on later rows.
bool is_whole(const Request& request, const RequestLimits& limits);

/// Checks a request. Errors: Error{kInvalid} that names the invalid parameter as the API spells it,
/// the parameter's value and the possible values.
void check_request(const Request& request, const RequestLimits& limits);
/// Checks only Request::speculation. Errors: those of `check_request`.
void check_speculation(const RequestSpeculation& speculation, const RequestLimits& limits);
/// Checks only the fields for sampling. Errors: those of `check_request`.
void check_sampling(const Request& request, const RequestLimits& limits);

}  // namespace ingot
