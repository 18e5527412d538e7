// The public API: open a model, generate, add requests to the running batch, hidden states.
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

/// All of the API. What else lies in `ingot` is the engine's own.
namespace ingot::api {

/// What kind of failure an Error is.
enum class ErrorCode {
  kInvalid,     ///< an option or a request is wrong; the message names it and what is possible
  kModel,       ///< a model, tokenizer or session file was refused
  kDoesNotFit,  ///< not enough memory, with the numbers
  kIo,          ///< reading failed after opening, or a file could not be written
  kBusy,        ///< too many requests wait or are paused; again later
  kNotFinite,   ///< the request met NaN or infinities; others go on
  kInternal,    ///< a bug in ingot
};

/// The one type that this API throws, with a message of one line.
class Error : public std::exception {
 public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}
  ErrorCode code() const { return code_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  ErrorCode code_;
  std::string message_;
};

/// Type of cached keys and values.
enum class KvType { kF16, kF32, kBF16, kInt8 };

/// How weights are held: as the file stores them, or those that it stores as floats quantised while
/// they are loaded.
enum class Weights { kStored, kQ8_0, kQ4_K };

/// What is opened, and how it is run. None of it but `path`, `kv_type`, `weights` and `context` can
/// change a bit of a result.
struct OpenOptions {
  std::string path{};        ///< a GGUF file or a Hugging Face folder
  std::int32_t threads = 0;  ///< to compute with; 0 = one a core, or a CPU if faster
  std::string isa = "auto";  ///< kernels: auto, scalar, avx2, avx512, ...
  KvType kv_type = KvType::kF16;
  Weights weights = Weights::kStored;
  std::int64_t context = 0;       ///< tokens a sequence may have; 0 = what the model was made for
  std::int32_t sequences = 8;     ///< requests that run at once; more wait
  std::int32_t step_rows = 512;   ///< tokens that a step computes at most, of all that run
  std::int64_t memory_limit = 0;  ///< bytes to use at most; 0 = what the system has available
  bool check_tensors = false;     ///< refuse weights that are NaN or infinite
  /// A folder that keeps packed weights: the next start of the model maps them. Empty: none.
  std::string pack_cache{};
  /// Requests that may wait beside the `sequences` that run: for their turn, or for their readers.
  /// Paused ones do not keep others from running.
  std::size_t waiting_max = 1024;
  std::size_t deltas_max = 256;  ///< pieces that a reader may be behind before its request pauses
  /// A request that is paused for so many seconds, because nobody takes its pieces, ends cancelled;
  /// 0 = never. A threadless engine looks when it makes a step.
  double stall_seconds = 0;
  /// What was computed of prompts and replies stays where no running request needs its memory, and
  /// later requests begin from it.
  bool prefix_cache = true;
  /// Seconds that a step may take for prompts while other requests wait for their next token; 0 =
  /// in proportion to a step without prompts.
  double target_itl_seconds = 0;
  /// Smaller priorities run first, ten seconds of waiting making up for a step. False: first come,
  /// first served.
  bool by_priority = false;
  /// Sessions can be saved and restored: the model's weights are read once more while opening, for
  /// the fingerprint that ties a session to them.
  bool sessions = false;
  /// No thread of its own: requests go on only inside `step`, `generate`, `hidden_states` and
  /// `Stream::next`, all of which then have to be called from one thread.
  bool threadless = false;
  /// Told the bytes of the file that are loaded, of `total`; returns whether to go on.
  std::function<bool(std::uint64_t done, std::uint64_t total)> progress{};
};

/// What was opened.
struct ModelInfo {
  std::string path;
  std::string architecture;
  std::string isa;          ///< the kernels that run
  std::int64_t vocab = 0;   ///< V: ids that a prompt may hold
  std::int64_t hidden = 0;  ///< H: values of an embedding or hidden state
  std::int64_t layers = 0;
  std::int64_t context = 0;           ///< tokens a sequence may have
  bool has_tokenizer = false;         ///< else prompts are ids, and results have no text
  std::vector<std::string> warnings;  ///< what was assumed while opening, a line each
};

/// How a text becomes ids.
struct EncodeOptions {
  bool add_special = true;     ///< BOS and EOS where the tokenizer's file puts them
  bool parse_special = false;  ///< control tokens written out in the text become tokens
};

/// What is to be continued: embedding rows, if any, and after them ids or a text.
struct Prompt {
  /// An empty one is a prompt too: BOS, where it is added. After embeddings none is: it belongs at
  /// the beginning.
  std::optional<std::string> text{};
  EncodeOptions encode{};
  std::vector<std::int32_t> ids{};  ///< in place of text
  std::vector<float> embeddings{};  ///< [n, H], row by row
};

/// A value that is added to one token's logit.
struct LogitBias {
  std::int32_t id = 0;
  float bias = 0;  ///< in [-100, 100]
};

/// How tokens are drawn. The defaults are neutral, and the most likely token is taken.
struct Sampling {
  float temperature = 0;                ///< in [0, 100]; 0 = the most likely token
  std::int32_t top_k = 0;               ///< 0 = all
  float top_p = 1;                      ///< in [0, 1]; 1 = off
  float min_p = 0;                      ///< in [0, 1]; 0 = off
  float typical_p = 1;                  ///< in (0, 1]; 1 = off
  float repetition_penalty = 1;         ///< in [0.01, 100]; over prompt and continuation; 1 = off
  float presence_penalty = 0;           ///< in [-2, 2]; over the continuation
  float frequency_penalty = 0;          ///< in [-2, 2]; times a token's count in the continuation
  std::vector<LogitBias> logit_bias{};  ///< each id once
  std::uint64_t seed = 0;               ///< equal seeds draw equal tokens, whatever else runs
  std::uint32_t choice = 0;             ///< which of several continuations of one prompt and seed
};

/// A prompt and how it goes on.
struct Request {
  Prompt prompt{};
  Sampling sampling{};
  /// So many of the prompt's last ids were drawn by an earlier request that this one goes on with:
  /// drawing, penalties, min_tokens and stop strings take up where that one ended, and what comes
  /// is what would have come. max_tokens counts new tokens alone.
  std::int64_t continued = 0;
  std::int64_t max_tokens = 256;
  std::int64_t min_tokens = 0;  ///< before so many, no end token is drawn
  /// The text ends before the first of them. That bounds the text alone: ids and log-probabilities
  /// of the tokens that spelt it are in the result.
  std::vector<std::string> stop{};
  std::vector<std::int32_t> stop_token_ids{};  ///< the text ends where one is drawn
  bool ignore_eos = false;                     ///< the model's own end tokens do not end it
  std::int32_t logprobs = -1;                  ///< each token's and so many best; -1 = none
  std::int32_t prompt_logprobs = -1;           ///< the same for the prompt's tokens
  bool digest = false;                         ///< of the logits that tokens are drawn from
  // How it shares the engine; none of it changes a bit of the result.
  std::int32_t priority = 0;  ///< where the engine goes by it: smaller ones first
  std::uint64_t tenant = 0;   ///< tenants get equal shares of the machine, and of what is kept
  std::uint64_t domain = 0;   ///< requests of different domains never share what was computed
  /// Seconds until the first and until the last token, from now on. A request for which the engine
  /// predicts that it cannot be in time ends with Error{kBusy}, at once or when it becomes so. 0 =
  /// no bound.
  double max_ttft_seconds = 0;
  double deadline_seconds = 0;
};

/// A token and the logarithm of its probability.
struct TokenScore {
  std::int32_t id = 0;
  float logprob = 0;
};

/// How likely a token was, and which were the likeliest.
struct TokenLogprobs {
  TokenScore token;
  std::vector<TokenScore> top;  ///< falling, ties to the lower id
};

/// What came since the last one.
struct Delta {
  std::vector<std::int32_t> ids;
  std::string text;                     ///< whole characters of UTF-8; may be empty
  std::vector<TokenLogprobs> logprobs;  ///< one for each id, where asked for
};

/// Why a request ended.
enum class FinishReason {
  kStop,       ///< an end token was drawn, or a stop string appeared
  kLength,     ///< max_tokens or the context's end
  kCancelled,  ///< its reader or callback said so, or the engine went away
};

/// All that came of a request.
struct Result {
  std::vector<std::int32_t> prompt_ids;  ///< those that the text was, or were given
  std::vector<std::int32_t> ids;
  std::string text;
  FinishReason finish = FinishReason::kCancelled;
  std::vector<TokenLogprobs> logprobs;         ///< one for each id, where asked for
  std::vector<TokenLogprobs> prompt_logprobs;  ///< from the prompt's second token on
  /// 16 hexadecimal digits, where asked for: equal digests mean equal logits, bit for bit. Empty
  /// when cancelled.
  std::string digest;
  std::int64_t cached_tokens = 0;  ///< of the prompt: what was there already
  double prefill_seconds = 0;      ///< from admission to the first token
  double decode_seconds = 0;       ///< from there to the last
};

/// What a session file held.
struct Session {
  /// Goes on where the saved one ended: its prompt are all tokens, `continued` those that were
  /// drawn. How to draw, end and stop is as it was saved, in `domain`; all else is the default.
  Request request;
  std::int64_t restored_tokens = 0;  ///< of the prompt: they need not be computed again
};

/// Called with each piece, in the thread that called `generate`; returns whether to go on.
using Callback = std::function<bool(const Delta& delta)>;

/// Which rows of a prompt, and from where.
struct HiddenOptions {
  bool all_rows = false;   ///< else the last one
  bool final_norm = true;  ///< after the final norm, else before it
};

/// Hidden states, row by row.
struct HiddenStates {
  std::int64_t rows = 0;
  std::int64_t cols = 0;      ///< H
  std::vector<float> values;  ///< [rows, cols]
};

/// The reading end of a request that is under way. One thread at a time reads it; it may outlive
/// the engine. Who drops it cancels the request.
class Stream {
 public:
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;
  ~Stream();

  /// The next piece, waiting for it; nothing at the end. A threadless engine makes steps for it.
  ///
  /// Errors: Error{kBusy} when a threadless engine cannot get to this request because others are
  /// paused: once one of their streams was read or dropped, this one goes on.
  std::optional<Delta> next();
  /// The next piece if there is one now.
  std::optional<Delta> try_next();
  /// Whether the request has ended and every piece was read.
  bool finished() const;
  /// Ends the request soon; from any thread. Pieces already there can still be read.
  void cancel();
  /// Reads to the end and returns all that ever came.
  ///
  /// Errors: Error when the request ended with one, or the result was taken before.
  Result result();

 private:
  friend class Engine;
  struct Impl;
  explicit Stream(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// One model, ready to run, and the batch of requests that are under way. What it computes for a
/// request depends on that request alone, bit for bit.
///
/// With a thread of its own (the default) all functions may be called from any thread. Destroying
/// it cancels what is under way.
class Engine {
 public:
  /// Opens a model. While its files are read, one that is cut short under the reader ends the
  /// process with exit code 74: a page of a mapped file cannot be missing in any other way.
  ///
  /// Errors: Error{kInvalid}, Error{kModel}, Error{kDoesNotFit}, Error{kIo}. A `progress` that
  /// returns false: Error{kInvalid}; what it throws comes out as it is.
  explicit Engine(const OpenOptions& options);
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  ~Engine();

  const ModelInfo& info() const;

  /// The ids of a text. Errors: Error{kInvalid} without a tokenizer.
  std::vector<std::int32_t> encode(std::string_view text, const EncodeOptions& options = {}) const;
  /// The text of ids, as whole characters. Errors: Error{kInvalid} without a tokenizer.
  std::string decode(std::span<const std::int32_t> ids) const;

  /// Runs a request to its end, beside whatever else is under way. A callback that returns false
  /// cancels it: the result is what the callback has seen. What it throws comes out as it is.
  ///
  /// Errors: as of `submit`, and Error{kNotFinite}, Error{kDoesNotFit} during the request.
  Result generate(const Request& request, const Callback& callback = {});

  /// Adds a request to the running batch.
  ///
  /// Errors: Error{kInvalid} naming the parameter; Error{kBusy}.
  Stream submit(const Request& request);
  /// Adds `n` continuations of one prompt, which is computed once; number i is what `submit` gives
  /// for sampling.choice + i.
  ///
  /// Errors: as of `submit`; Error{kInvalid} for n outside of [1, 128].
  std::vector<Stream> submit_choices(const Request& request, std::int32_t n);

  /// The hidden states of a prompt's rows, computed in the running batch.
  ///
  /// Errors: as of `generate`.
  HiddenStates hidden_states(const Prompt& prompt, const HiddenOptions& options = {});

  /// Writes a file from which any process with this model and `kv_type` can go on with a request
  /// as if it had not stopped: the tokens of `result`, how `request`, which gave it, draws and
  /// stops, and what is there of their keys and values in the request's domain. The file appears
  /// whole or not at all; its keys and values pass through memory. Returns how many tokens have
  /// keys in it: the others will be computed. Of several choices, `request.sampling.choice` is that
  /// of the one that gave the result.
  ///
  /// Errors: Error{kInvalid} without OpenOptions::sessions, for a prompt with embeddings, or for
  /// what no request may ask for; Error{kIo}; Error{kBusy}, again later; Error{kDoesNotFit} when
  /// memory runs out.
  std::int64_t save_session(const std::string& path, const Request& request, const Result& result);
  /// Takes the keys and values of a file over for requests of `domain`, as far as there is room,
  /// and returns the request that goes on. Results do not depend on how far that is.
  ///
  /// Errors: Error{kInvalid} without OpenOptions::sessions; Error{kModel}, with nothing changed,
  /// for a file that cannot be read, is damaged, or is of another model, `kv_type` or version of
  /// ingot's arithmetic, or asks for what no request may; Error{kIo} when it changes meanwhile;
  /// Error{kBusy}, again later; Error{kDoesNotFit} when memory runs out.
  Session restore_session(const std::string& path, std::uint64_t domain = 0);

  /// One step of a threadless engine for all that is under way. Returns whether requests are left;
  /// while all of those are paused by their readers, it does nothing.
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
