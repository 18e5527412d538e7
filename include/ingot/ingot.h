// The public C++ API: open a model, generate, add requests to a batch, compute hidden states.
#pragma once

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

/// The kind of failure of an Error.
enum class ErrorCode {
  kInvalid,     ///< an option or a request is wrong; the message names it and the possible values
  kModel,       ///< a model, tokenizer or session file cannot be used
  kDoesNotFit,  ///< not enough memory; the message has the numbers
  kIo,          ///< reading failed after opening, or a file could not be written
  kBusy,        ///< too many requests wait or are paused; try again later
  kNotFinite,   ///< the request met NaN or infinities; other requests continue
  kInternal,    ///< a bug in ingot
};

/// The only exception of this API, with a message of one line.
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

/// How weights are stored in memory: as in the file, or with float matrices quantised.
enum class Weights { kStored, kQ8_0, kQ4_K };

/// Which model to open, and how to run it. Only `path`, `kv_type`, `weights` and `context` can
/// change a bit of a result.
struct OpenOptions {
  std::string path{};        ///< a GGUF file or a Hugging Face folder
  std::int32_t threads = 0;  ///< compute threads; 0: one per core, or per CPU if that is faster
  std::string isa = "auto";  ///< instruction set: auto, scalar, avx2, avx512, ...
  KvType kv_type = KvType::kF16;
  Weights weights = Weights::kStored;
  std::int64_t context = 0;       ///< maximum tokens of a sequence; 0: the model's own context
  std::int32_t sequences = 8;     ///< maximum number of requests that run at once
  std::int32_t step_rows = 512;   ///< maximum tokens of a step, over all requests
  std::int64_t memory_limit = 0;  ///< maximum bytes to use; 0: the system's available memory
  bool check_tensors = false;     ///< refuse weights that are NaN or infinite
  /// Folder for packed weights, which the next start of the model only maps. Empty: none.
  std::string pack_cache{};
  /// Number of requests that may wait, besides the `sequences` that run: new requests, and requests
  /// paused because their reader is behind. Paused requests do not block others.
  std::size_t waiting_max = 1024;
  std::size_t deltas_max = 256;  ///< number of unread deltas at which a request is paused
  /// Seconds after which a request is cancelled if it stays paused because its reader is behind; 0:
  /// never. A threadless engine checks this limit in each step.
  double stall_seconds = 0;
  /// Keeps the keys and values of prompts and results while running requests do not need the
  /// memory, so that later requests with equal beginnings compute less.
  bool prefix_cache = true;
  /// Seconds that a step with prompts may take while other requests wait for their next token; 0: a
  /// limit in proportion to the time of a step without prompts.
  double target_itl_seconds = 0;
  /// Runs requests with smaller `priority` first; ten seconds of waiting count as one step of
  /// priority. False: first come, first served.
  bool by_priority = false;
  /// Allows sessions to be saved and restored. Opening reads the weights once more, for the
  /// fingerprint that ties a session to its model.
  bool sessions = false;
  /// Starts no thread: requests advance only inside `step`, `generate`, `hidden_states` and
  /// `Stream::next`, which must all be called from one thread.
  bool threadless = false;
  /// Called while loading with the loaded bytes and the total; returns whether to continue.
  std::function<bool(std::uint64_t done, std::uint64_t total)> progress{};
};

/// Properties of the opened model.
struct ModelInfo {
  std::string path;
  std::string architecture;
  std::string isa;          ///< instruction set of the kernels
  std::int64_t vocab = 0;   ///< V: a prompt's ids are in [0, V)
  std::int64_t hidden = 0;  ///< H: length of an embedding or hidden state
  std::int64_t layers = 0;
  std::int64_t context = 0;           ///< maximum tokens of a sequence
  bool has_tokenizer = false;         ///< false: prompts must be ids, and results have no text
  std::vector<std::string> warnings;  ///< assumptions made while opening, a line each
};

/// Options of the conversion from text to ids.
struct EncodeOptions {
  bool add_special = true;     ///< add BOS and EOS as the tokenizer's file says
  bool parse_special = false;  ///< true: the name of a control token in the text becomes that token
};

/// The beginning of a sequence: embedding rows, if any, then ids or a text.
struct Prompt {
  /// The text. An empty text is valid if the tokenizer adds BOS. After embeddings no BOS is added.
  std::optional<std::string> text{};
  EncodeOptions encode{};
  std::vector<std::int32_t> ids{};  ///< token ids instead of text
  std::vector<float> embeddings{};  ///< embedding rows [n, H], row by row
};

/// A value that is added to one token's logit.
struct LogitBias {
  std::int32_t id = 0;
  float bias = 0;  ///< in [-100, 100]
};

/// How tokens are drawn. By default each token is the most likely one, and all else is off.
struct Sampling {
  float temperature = 0;                ///< in [0, 100]; 0: the most likely token
  std::int32_t top_k = 0;               ///< number of most likely tokens to draw from; 0: all
  float top_p = 1;                      ///< total probability to draw from, in [0, 1]; 1: off
  float min_p = 0;                      ///< relative to the most likely token; in [0, 1]; 0: off
  float typical_p = 1;                  ///< in (0, 1]; 1: off
  float repetition_penalty = 1;         ///< in [0.01, 100]; for tokens of prompt and result; 1: off
  float presence_penalty = 0;           ///< in [-2, 2]; for tokens of the result
  float frequency_penalty = 0;          ///< in [-2, 2]; multiplied by a token's count in the result
  std::vector<LogitBias> logit_bias{};  ///< each id at most once
  std::uint64_t seed = 0;               ///< equal seeds draw equal tokens in any batch
  std::uint32_t choice = 0;             ///< number of the choice, if a prompt has several
};

/// A prompt and how to continue it.
struct Request {
  Prompt prompt{};
  Sampling sampling{};
  /// The number of ids at the prompt's end that an earlier request drew. Drawing, penalties,
  /// min_tokens and stop strings continue from there, so that the result is the one that the
  /// earlier request would have given. max_tokens counts only new tokens.
  std::int64_t continued = 0;
  std::int64_t max_tokens = 256;
  std::int64_t min_tokens = 0;  ///< number of tokens before an end token may be drawn
  /// Stop strings: the text ends before the first stop string that appears. The result still has
  /// the ids and log-probabilities of the stop string's tokens.
  std::vector<std::string> stop{};
  std::vector<std::int32_t> stop_token_ids{};  ///< drawing one of these ends the text
  bool ignore_eos = false;                     ///< the model's own end tokens do not end the text
  std::int32_t logprobs = -1;                  ///< number of best tokens with logprobs; -1: none
  std::int32_t prompt_logprobs = -1;           ///< as `logprobs`, for the prompt's tokens
  bool digest = false;                         ///< compute the digest of the logits
  // How the request shares the engine. None of the following fields changes a bit of the result.
  std::int32_t priority = 0;  ///< with OpenOptions::by_priority: smaller values run first
  std::uint64_t tenant = 0;   ///< tenants get equal shares of the steps and of the cache
  std::uint64_t domain = 0;   ///< requests of different domains never share computed keys
  /// Limits on the seconds from submission to the first and to the last token; 0: none. If the
  /// engine predicts that a request will miss a limit, the request ends with Error{kBusy}.
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
  std::vector<TokenScore> top;  ///< most likely first; of equally likely tokens the lower id first
};

/// New tokens and text since the previous delta.
struct Delta {
  std::vector<std::int32_t> ids;
  std::string text;                     ///< whole characters of UTF-8; may be empty
  std::vector<TokenLogprobs> logprobs;  ///< one entry for each id, if asked for
};

/// Why a request ended.
enum class FinishReason {
  kStop,       ///< an end token was drawn, or a stop string appeared
  kLength,     ///< max_tokens or the end of the context was reached
  kCancelled,  ///< cancelled by its reader or callback, or the engine was destroyed
};

/// The result of a whole request.
struct Result {
  std::vector<std::int32_t> prompt_ids;  ///< the prompt's ids, from its text or as given
  std::vector<std::int32_t> ids;
  std::string text;
  FinishReason finish = FinishReason::kCancelled;
  std::vector<TokenLogprobs> logprobs;         ///< one entry for each id, if asked for
  std::vector<TokenLogprobs> prompt_logprobs;  ///< one entry for each prompt token except the first
  /// Digest of the logits, if asked for: 16 hexadecimal digits. Equal digests mean equal logits,
  /// bit for bit. Empty when cancelled.
  std::string digest;
  std::int64_t cached_tokens = 0;  ///< number of prompt tokens found in the prefix cache
  double prefill_seconds = 0;      ///< time from admission to the first token
  double decode_seconds = 0;       ///< time from the first token to the last
};

/// The contents of a session file.
struct Session {
  /// The request that continues the saved request. `prompt` has all tokens; `continued` counts the
  /// drawn tokens. Sampling, min_tokens, end tokens and stop strings are the saved ones, `domain`
  /// is the argument of restore_session, and other fields have their defaults.
  Request request;
  std::int64_t restored_tokens = 0;  ///< number of prompt tokens that need not be computed again
};

/// Receives each delta, in the thread that called `generate`; returns whether to continue.
using Callback = std::function<bool(const Delta& delta)>;

/// Which hidden states of a prompt to return.
struct HiddenOptions {
  bool all_rows = false;   ///< true: all rows; false: the last row
  bool final_norm = true;  ///< true: after the final norm; false: before it
};

/// Hidden states as a matrix.
struct HiddenStates {
  std::int64_t rows = 0;
  std::int64_t cols = 0;      ///< H
  std::vector<float> values;  ///< [rows, cols]
};

/// The reading end of a running request. Only one thread at a time may read it. A stream may
/// outlive the engine. The stream's destructor cancels the request.
class Stream {
 public:
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;
  ~Stream();

  /// Waits for the next delta; nothing after the last. In a threadless engine this runs the steps.
  ///
  /// Errors: Error{kBusy} when a threadless engine cannot run this request because other
  /// requests are paused; read or drop one of their streams first.
  std::optional<Delta> next();
  /// The next delta if one is available now, else nothing.
  std::optional<Delta> try_next();
  /// Whether the request has ended and every delta was read.
  bool finished() const;
  /// Cancels the request. Thread-safe. Deltas in the stream can still be read.
  void cancel();
  /// Reads to the end and returns the result of the whole request.
  ///
  /// Errors: the error that ended the request; Error{kInvalid} if the result was taken before.
  Result result();

 private:
  friend class Engine;
  struct Impl;
  explicit Stream(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// One model, ready to run, and the batch of running requests. A request's result depends on that
/// request alone, bit for bit.
///
/// If the engine has its own thread (the default), all functions are thread-safe. The destructor
/// cancels all requests.
class Engine {
 public:
  /// Opens a model. If one of its files is truncated while it is read, the process ends with exit
  /// code 74, because a mapped file cannot report a missing page in another way.
  ///
  /// Errors: Error{kInvalid}, also if `progress` returns false; Error{kModel}; Error{kDoesNotFit};
  /// Error{kIo}. Exceptions from `progress` pass through.
  explicit Engine(const OpenOptions& options);
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  ~Engine();

  const ModelInfo& info() const;

  /// The ids of a text. Errors: Error{kInvalid} without a tokenizer.
  std::vector<std::int32_t> encode(std::string_view text, const EncodeOptions& options = {}) const;
  /// The text of ids, as whole characters. Errors: Error{kInvalid} without a tokenizer.
  std::string decode(std::span<const std::int32_t> ids) const;

  /// Runs a request to its end, in one batch with other requests. If the callback returns false the
  /// request is cancelled, and the result holds the deltas that the callback received. Exceptions
  /// from the callback pass through.
  ///
  /// Errors: those of `submit`, and Error{kNotFinite}, Error{kDoesNotFit} during the request.
  Result generate(const Request& request, const Callback& callback = {});

  /// Adds a request to the running batch.
  ///
  /// Errors: Error{kInvalid} naming the parameter; Error{kBusy}.
  Stream submit(const Request& request);
  /// Adds `n` choices of one prompt, which is computed once. Choice i gives the result of `submit`
  /// with sampling.choice + i.
  ///
  /// Errors: those of `submit`; Error{kInvalid} for n outside [1, 128].
  std::vector<Stream> submit_choices(const Request& request, std::int32_t n);

  /// The hidden states of a prompt's rows, computed in the running batch.
  ///
  /// Errors: those of `generate`.
  HiddenStates hidden_states(const Prompt& prompt, const HiddenOptions& options = {});

  /// Writes a session file, from which any process with this model and `kv_type` continues a
  /// request as if it had not stopped. The file holds the tokens of `result`, the sampling and stop
  /// settings of `request`, which must have given that result, and the tokens' cached keys and
  /// values in the request's domain. The file appears completely or not at all; its keys and
  /// values pass through memory. For a choice, `request.sampling.choice` is that choice's number.
  /// Returns how many tokens have keys in the file; other tokens are computed again.
  ///
  /// Errors: Error{kInvalid} without OpenOptions::sessions, for a prompt with embeddings, or for an
  /// invalid request; Error{kIo}; Error{kBusy} (try again later); Error{kDoesNotFit} when memory
  /// runs out.
  std::int64_t save_session(const std::string& path, const Request& request, const Result& result);
  /// Restores keys and values from a session file for requests of `domain`, as far as memory
  /// allows. Returns the request that continues the session; how much fits does not change results.
  ///
  /// Errors: Error{kInvalid} without OpenOptions::sessions; Error{kModel}, with nothing changed,
  /// for a file that cannot be read, is damaged, is of another model, `kv_type` or version of
  /// ingot's arithmetic, or has an invalid request; Error{kIo} if the file changes meanwhile;
  /// Error{kBusy} (try again later); Error{kDoesNotFit} when memory runs out.
  Session restore_session(const std::string& path, std::uint64_t domain = 0);

  /// Runs one step of a threadless engine. Returns whether requests remain. Does nothing while all
  /// requests are paused for their readers.
  ///
  /// Errors: Error{kInvalid} for an engine with a thread.
  bool step();

 private:
  friend class Stream;
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

/// The version of the library, as "1.2.3".
const char* version();

}  // namespace ingot::api
