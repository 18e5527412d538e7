// The public C++ API: open a model, generate, add requests to a batch, compute hidden states.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The public API. Other names in namespace `ingot` are internal.
namespace ingot::api {

/// The kind of an error.
enum class ErrorCode {
  kInvalid,     ///< a wrong option or request; the message names the field and its possible values
  kModel,       ///< a model, tokenizer or session file cannot be used
  kDoesNotFit,  ///< not enough memory; the message has the numbers
  kIo,          ///< an open file could not be read, or a file could not be written
  kBusy,        ///< too many requests wait or are paused; try again later
  kNotFinite,   ///< computing the request gave NaN or infinities; other requests continue
  kInternal,    ///< a bug in ingot
};

/// The only exception that this API itself throws. Its message has one line.
class Error : public std::exception {
 public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}
  ErrorCode code() const { return code_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  ErrorCode code_;
  std::string message_;
};

/// Number type of cached keys and values.
enum class KvType { kF16, kF32, kBF16, kInt8 };

/// How memory holds weights: as the file does (kStored), or with F32, F16 and BF16 matrices rounded
/// or widened to one type.
enum class Weights { kStored, kQ8_0, kQ4_K, kBF16, kF32 };

/// Which model to open, and how to run it. Only `path`, `kv_type`, `weights` and `context` can
/// change results. The other options change no bit of a result.
struct OpenOptions {
  std::string path{};        ///< a GGUF file or a Hugging Face folder
  std::int32_t threads = 0;  ///< compute threads; 0: one per core, or one per CPU if faster
  std::string isa = "auto";  ///< instruction set: auto, scalar, avx2, avx512, ...
  /// Absent: kBF16 if more than half of the bytes of the layers' matrices are BF16 in memory, kF32
  /// if the model embeds or scores texts, else kF16.
  std::optional<KvType> kv_type{};
  Weights weights = Weights::kStored;
  std::int64_t context = 0;       ///< maximum tokens of a sequence; 0: the model's own context
  std::int32_t sequences = 8;     ///< maximum number of requests that run at once
  std::int32_t step_rows = 512;   ///< token budget: maximum rows of a step, over all requests
  std::int64_t memory_limit = 0;  ///< limit on memory in bytes; 0: the system's available memory
  bool check_tensors = false;     ///< true: refuses weights that are NaN or infinite
  /// False: loads no embedding matrix, unless it is also the output head. Without it, prompts must
  /// be embeddings, and a request draws at most one token. A file without it opens only so.
  bool embedding = true;
  /// False: loads no output head. The model then gives hidden states only. A file without a head
  /// opens only so.
  bool head = true;
  /// Folder for packed weights. The model's next start maps them instead of packing. Empty: none.
  std::string pack_cache{};
  /// Limit on the requests that wait: new requests, and requests paused for a slow reader. The
  /// `sequences` requests that run do not count. Paused requests do not block other requests.
  std::size_t waiting_max = 1024;
  std::size_t deltas_max = 256;  ///< number of unread deltas at which a request is paused
  /// Seconds for which a request may be paused for a slow reader. Then the engine cancels the
  /// request. 0: no limit. A threadless engine checks this limit in each step.
  double stall_seconds = 0;
  /// Keeps the keys and values of prompts and results until running requests need the memory. Later
  /// requests with equal beginnings then compute less.
  bool prefix_cache = true;
  /// Limit in seconds on a step with prompts while other requests wait for their next token. 0: a
  /// limit in proportion to the time of a step without prompts.
  double target_itl_seconds = 0;
  /// True: runs requests with smaller `priority` first; ten seconds of waiting count like a
  /// `priority` that is smaller by 1. False: first come, first served.
  bool by_priority = false;
  /// Drafts of speculation: guessed tokens that one step verifies. No result changes. Empty: none.
  /// "lookup": what followed earlier occurrences of the last tokens. Another text: a draft model,
  /// which is a small model with the same tokens; lookup comes first. "./lookup" is a path.
  std::string draft{};
  std::int32_t draft_tokens =
      0;  ///< drafts for each step of a request, up to 32; 0: as many as pay
  /// Allows save_session and restore_session. Opening then reads the weights once more, to compute
  /// the fingerprint that ties a session to its model.
  bool sessions = false;
  /// Starts no engine thread. Requests advance only inside `step`, `generate`, `hidden_states` and
  /// `Stream::next`. Call these functions from one thread.
  bool threadless = false;
  /// Loading calls this function with the loaded and the total bytes. False cancels loading.
  std::function<bool(std::uint64_t done, std::uint64_t total)> progress{};
};

/// Properties of the opened model.
struct ModelInfo {
  std::string path;
  std::string architecture;
  std::string isa;          ///< instruction set of the kernels
  std::int64_t vocab = 0;   ///< V, the vocabulary's size; a prompt's ids are in [0, V)
  std::int64_t hidden = 0;  ///< H, the number of floats in an embedding or hidden state
  std::int64_t layers = 0;
  std::int64_t context = 0;           ///< maximum tokens of a sequence
  KvType kv_type = KvType::kF16;      ///< type of cached keys and values
  bool has_tokenizer = false;         ///< false: prompts must be ids, and results have no text
  std::vector<std::string> warnings;  ///< assumptions made while opening, one line each
};

/// Options of encoding a text to ids.
struct EncodeOptions {
  /// True: adds BOS and EOS as the tokenizer's file says. A prompt that the model continues
  /// gets no EOS.
  bool add_special = true;
  bool parse_special = false;  ///< true: a control token's name in the text becomes that token
};

class LiveSequence;

/// The beginning of a sequence: embedding rows, if any, then ids or a text.
struct Prompt {
  /// The prompt's text. It may be empty if the tokenizer adds BOS. Embeddings, and earlier rows of
  /// a live sequence, suppress BOS and EOS.
  std::optional<std::string> text{};
  EncodeOptions encode{};
  std::vector<std::int32_t> ids{};  ///< token ids, if the prompt has no text
  std::vector<float> embeddings{};  ///< n embeddings of H floats each; H is ModelInfo::hidden
  /// The live sequence to whose rows the prompt is appended; null: the prompt begins a sequence. It
  /// must outlive the call that takes the prompt.
  LiveSequence* sequence = nullptr;
};

/// A bias that sampling adds to one token's logit.
struct LogitBias {
  std::int32_t id = 0;
  float bias = 0;  ///< number to add to the logit, in [-100, 100]; -infinity bans the token
};

/// How a request draws tokens. By default it takes the most likely token; other options are off.
struct Sampling {
  float temperature = 0;                ///< divisor of logits, in [0, 100]; 0: the likeliest token
  std::int32_t top_k = 0;               ///< number of likeliest tokens to draw from; 0: all
  float top_p = 1;                      ///< total probability of likely tokens kept, [0, 1]; 1: off
  float min_p = 0;                      ///< least probability / top probability, in [0, 1]; 0: off
  float typical_p = 1;                  ///< total probability of typical tokens kept, (0,1]; 1: off
  float repetition_penalty = 1;         ///< penalty for each earlier token, in [0.01, 100]; 1: off
  float presence_penalty = 0;           ///< logit penalty for tokens in the result, in [-2, 2]
  float frequency_penalty = 0;          ///< logit penalty per occurrence in the result, in [-2, 2]
  std::vector<LogitBias> logit_bias{};  ///< biases of tokens; each id at most once
  float dry_multiplier = 0;             ///< DRY: penalty for repetitions, in [0, 100]; 0: off
  float dry_base = 1.75f;               ///< DRY: factor for each further token, in [1, 10]
  std::int32_t dry_allowed_length = 2;  ///< DRY: tokens of the shortest repetition, in [0, 50]
  std::int32_t dry_penalty_last_n = -1;  ///< DRY: number of last tokens to search; -1: all
  /// DRY: texts that no repetition contains, up to 32 of 1 to 40 bytes.
  std::vector<std::string> dry_sequence_breakers{"\n", ":", "\"", "*"};
  std::vector<std::string> bad_words{};           ///< texts not to generate, up to 256
  std::vector<std::int32_t> allowed_token_ids{};  ///< the only ids to draw; empty: all
  float top_n_sigma = 0;       ///< keep logits within n deviations of the largest; up to 0: all
  std::int32_t mirostat = 0;   ///< 2: Mirostat 2.0, for requests without `continued`; 0: off
  float mirostat_tau = 5;      ///< Mirostat: bits of surprise to aim at, in [0, 100]
  float mirostat_eta = 0.1f;   ///< Mirostat: how fast it adapts, in [0, 1]
  float xtc_probability = 0;   ///< XTC: probability of dropping likely tokens, in [0, 1]; 0: off
  float xtc_threshold = 0.1f;  ///< XTC: least probability of likely tokens, in [0, 1]; > 0.5: off
  std::uint64_t seed = 0;      ///< equal seeds draw equal tokens in any batch
  std::uint32_t choice = 0;    ///< number of this choice, if a prompt has several choices
};

/// Which drafts a request uses.
enum class SpeculationMode {
  kAuto,    ///< those of OpenOptions::draft
  kOff,     ///< none
  kLookup,  ///< what followed earlier occurrences of the last tokens
  kDraft,   ///< those of the draft model
};

/// A request's choice of drafts. kLookup and kDraft need OpenOptions::draft.
struct Speculation {
  SpeculationMode mode = SpeculationMode::kAuto;
  /// Drafts for each step, up to 32; 0: as many as pay; -1: OpenOptions::draft_tokens.
  std::int32_t tokens = -1;
};

/// A prompt and how to continue it.
struct Request {
  Prompt prompt{};
  Sampling sampling{};
  /// Number of ids at the prompt's end that an earlier request drew. Drawing, penalties, min_tokens
  /// and stop strings continue as if the earlier request had not stopped. max_tokens counts only
  /// new tokens.
  std::int64_t continued = 0;
  std::int64_t max_tokens = 256;
  std::int64_t min_tokens = 0;  ///< tokens before an end token or a stop string may end the text
  /// Stop strings: the text ends before the first stop string that appears. The result still has
  /// the ids and log-probabilities of the stop string's tokens.
  std::vector<std::string> stop{};
  std::vector<std::int32_t> stop_token_ids{};  ///< ids of tokens that end the text when drawn
  bool ignore_eos = false;                     ///< true: the model's end tokens do not end the text
  std::int32_t logprobs = -1;                  ///< number of likeliest tokens to report; -1: off
  std::int32_t prompt_logprobs = -1;           ///< as `logprobs`, for the prompt's tokens
  bool digest = false;                         ///< true: computes the digest of the logits
  // How the request shares the engine. None of the following fields changes a bit of the result.
  std::int32_t priority = 0;  ///< with OpenOptions::by_priority: smaller values run first
  std::uint64_t tenant = 0;   ///< number of the tenant; tenants share steps and cache equally
  std::uint64_t domain = 0;   ///< number of the domain; domains never share computed keys
  Speculation speculation{};
  /// Limits in seconds from submission to the first token and to the last token; 0: no limit. If
  /// the engine predicts that a request will miss a limit, the request ends with Error{kBusy}.
  double max_ttft_seconds = 0;
  double deadline_seconds = 0;
};

/// A token and the logarithm of its probability.
struct TokenScore {
  std::int32_t id = 0;
  float logprob = 0;
};

/// A token's log-probability, and the most likely tokens at its position.
struct TokenLogprobs {
  TokenScore token;
  std::vector<TokenScore> top;  ///< most likely first; equally likely tokens by ascending id
};

/// New tokens and text since the previous delta.
struct Delta {
  std::vector<std::int32_t> ids;
  std::string text;                     ///< whole characters of UTF-8; may be empty
  std::vector<TokenLogprobs> logprobs;  ///< one entry for each id, if requested
};

/// Why a request ended.
enum class FinishReason {
  kStop,       ///< the request drew an end token, or a stop string appeared
  kLength,     ///< the request reached max_tokens or the end of the context
  kCancelled,  ///< the reader or callback cancelled the request, or the engine was destroyed
};

/// The result of a whole request.
struct Result {
  std::vector<std::int32_t> prompt_ids;  ///< ids of the prompt: encoded from its text, or as given
  std::vector<std::int32_t> ids;
  std::string text;
  FinishReason finish = FinishReason::kCancelled;
  std::vector<TokenLogprobs> logprobs;         ///< one entry for each id, if requested
  std::vector<TokenLogprobs> prompt_logprobs;  ///< one entry for each prompt token except the first
  /// Digest of the logits, if requested: 16 hexadecimal digits. Equal digests mean equal logits,
  /// bit for bit. Empty if the request was cancelled.
  std::string digest;
  std::int64_t cached_tokens = 0;  ///< number of prompt tokens found in the prefix cache
  std::int64_t drafted = 0;        ///< number of drafts that steps verified
  std::int64_t accepted = 0;       ///< number of drafts that became tokens of the result
  double prefill_seconds = 0;      ///< seconds from admission to the first token
  double decode_seconds = 0;       ///< seconds from the first token to the last token
};

/// The contents of a session file.
struct Session {
  /// The request that continues the saved request. `prompt` has all tokens, and `continued` counts
  /// the drawn tokens. The file gives sampling, min_tokens, end tokens and stop strings. `domain`
  /// is the argument of restore_session. Other fields have their defaults.
  Request request;
  std::int64_t restored_tokens = 0;  ///< number of prompt tokens with restored keys and values
};

/// Receives each delta in the thread that called `generate`. Returns false to cancel the request.
using Callback = std::function<bool(const Delta& delta)>;

/// How a request of `generate_all` ended.
struct Ending {
  Result result;               ///< without an error: the whole result
  std::optional<Error> error;  ///< the error that refused or ended the request
};

/// What `generate_all` calls, in the thread that called it. `index`: the request's index. Empty
/// functions are not called.
struct BatchCallbacks {
  /// Receives each delta. Returns false to cancel the request.
  std::function<bool(std::size_t index, const Delta& delta)> delta{};
  /// Receives each request's end, once for each request.
  std::function<void(std::size_t index, const Ending& ending)> end{};
};

/// Which hidden states of a prompt to return.
struct HiddenOptions {
  bool all_rows = false;       ///< true: all rows; false: the last row
  bool final_norm = true;      ///< true: after the final norm; false: before it
  std::int64_t first_row = 0;  ///< index in the prompt of the first row, if `row_count` is not 0
  std::int64_t row_count = 0;  ///< number of rows; 0: the rows that `all_rows` says
};

/// Hidden states as a matrix.
struct HiddenStates {
  std::int64_t rows = 0;
  std::int64_t cols = 0;      ///< length H of a hidden state
  std::vector<float> values;  ///< the matrix [rows, cols], row by row
};

/// A sequence that lives on between requests. Each request with Prompt::sequence appends its
/// prompt, and then the tokens that it draws, as far as its reader takes them. The rows keep their
/// keys and values as long as no other request needs the memory. A result is that of one request
/// with all rows in its prompt, bit for bit.
///
/// A request can begin once the stream of the one before was read to its end or dropped. If a
/// request is refused, nothing is appended. After another error its prompt stays appended. Other
/// engines than the one that opened the sequence refuse its requests. Only one thread at a time may
/// use a live sequence and its streams. It may outlive the engine.
class LiveSequence {
 public:
  LiveSequence(LiveSequence&&) noexcept;
  LiveSequence& operator=(LiveSequence&&) noexcept;
  ~LiveSequence();

  /// Returns the number of rows: embeddings and tokens.
  std::int64_t rows() const;
  /// Drops all rows but the first `rows`.
  ///
  /// Errors: Error{kInvalid} outside [0, rows()], or while a request of the sequence runs.
  void truncate(std::int64_t rows);

 private:
  friend class Engine;
  friend class Stream;
  struct Impl;
  explicit LiveSequence(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

/// Delivers the deltas of a running request to its reader. Only one thread at a time may read a
/// stream. A stream may outlive the engine. The stream's destructor cancels the request.
class Stream {
 public:
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;
  ~Stream();

  /// Waits for the next delta; returns nothing after the last. Runs a threadless engine's steps.
  ///
  /// Errors: Error{kBusy} when a threadless engine cannot run this request because other
  /// requests are paused; first read or drop the stream of a paused request.
  std::optional<Delta> next();
  /// Returns the next delta if one is available now, else nothing.
  std::optional<Delta> try_next();
  /// Returns whether the request has ended and the reader has read every delta.
  bool finished() const;
  /// Cancels the request. Thread-safe. The reader can still read the deltas in the stream.
  void cancel();
  /// Reads all deltas and returns the result of the whole request.
  ///
  /// Errors: the error that ended the request; Error{kInvalid} if `result` succeeded before.
  Result result();

 private:
  friend class Engine;
  friend class LiveSequence;
  struct Impl;
  explicit Stream(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// One model, ready to run, and the batch of running requests. A request's result does not depend
/// on other requests, bit for bit.
///
/// If the engine has its own thread (the default), all functions are thread-safe. The destructor
/// cancels all requests.
class Engine {
 public:
  /// Opens a model. If a model file is truncated while the engine reads it, the process ends with
  /// exit code 74, because a mapped file has no other way to report a missing memory page.
  ///
  /// Errors: Error{kInvalid}, also if `progress` returns false; Error{kModel}; Error{kDoesNotFit};
  /// Error{kIo}. Exceptions from `progress` pass through.
  explicit Engine(const OpenOptions& options);
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  ~Engine();

  const ModelInfo& info() const;

  /// Returns the ids of a text. Errors: Error{kInvalid} without a tokenizer.
  std::vector<std::int32_t> encode(std::string_view text, const EncodeOptions& options = {}) const;
  /// Returns the text of ids, as whole characters. Errors: Error{kInvalid} without a tokenizer.
  std::string decode(std::span<const std::int32_t> ids) const;

  /// Runs a request to its end, in one batch with other requests. If the callback returns false,
  /// the request is cancelled, and the result holds the deltas that the callback received.
  /// Exceptions from the callback pass through.
  ///
  /// Errors: those of `submit`, and Error{kNotFinite}, Error{kDoesNotFit} during the request.
  Result generate(const Request& request, const Callback& callback = {});

  /// Adds a request to the running batch.
  ///
  /// Errors: Error{kInvalid}, which names the parameter; Error{kBusy} if too many requests wait.
  Stream submit(const Request& request);
  /// Adds `n` choices of one prompt. The engine computes the prompt once. Choice i gives the result
  /// of a `submit` with sampling.choice = request.sampling.choice + i.
  ///
  /// Errors: those of `submit`; Error{kInvalid} for n outside [1, 128].
  std::vector<Stream> submit_choices(const Request& request, std::int32_t n);
  /// Runs requests to their ends, in one batch with other requests. Returns how each one ended. An
  /// error of a request ends no other request. If too many requests would wait, submits the rest as
  /// others end. Exceptions from callbacks pass through, and cancel all requests.
  std::vector<Ending> generate_all(std::span<const Request> requests,
                                   const BatchCallbacks& callbacks = {});

  /// Makes a live sequence without rows.
  LiveSequence open_sequence();

  /// Adds a prompt to the running batch, and returns the hidden states of the prompt's rows.
  ///
  /// Errors: those of `generate`.
  HiddenStates hidden_states(const Prompt& prompt, const HiddenOptions& options = {});

  /// Writes a session file, from which any process with this model and `kv_type` continues a
  /// request as if the request had not stopped. The file holds the tokens of `result`, their cached
  /// keys and values in the request's domain, and the sampling and stop settings of `request`.
  /// `request` must have given `result`. For a choice, `request.sampling.choice` is the choice's
  /// number. The file appears completely or not at all. The call first copies the keys and values
  /// to memory. Returns how many tokens have keys in the file; the others are computed again.
  ///
  /// Errors: Error{kInvalid} without OpenOptions::sessions, for a prompt with embeddings, or for an
  /// invalid request; Error{kIo}; Error{kBusy} (try again later); Error{kDoesNotFit} when memory
  /// runs out.
  std::int64_t save_session(const std::string& path, const Request& request, const Result& result);
  /// Restores a session file's keys and values for requests of `domain`, as far as memory allows.
  /// Returns the request that continues the session. Its result does not depend on how much fits.
  ///
  /// Errors: Error{kInvalid} without OpenOptions::sessions; Error{kModel}, with nothing changed,
  /// for a file that cannot be read, is damaged, has an invalid request, or belongs to another
  /// model, `kv_type` or version of ingot's arithmetic; Error{kIo} if the file changes meanwhile;
  /// Error{kBusy} (try again later); Error{kDoesNotFit} when memory runs out.
  Session restore_session(const std::string& path, std::uint64_t domain = 0);

  /// Runs one step of a threadless engine. Returns whether requests remain. Does nothing while all
  /// requests are paused for their readers.
  ///
  /// Errors: Error{kInvalid} for an engine with a thread.
  bool step();

 private:
  friend class LiveSequence;
  friend class Stream;
  struct Impl;
  class BatchRun;
  std::shared_ptr<Impl> impl_;
};

/// Returns the version of the library, as "1.2.3".
const char* version();

}  // namespace ingot::api
