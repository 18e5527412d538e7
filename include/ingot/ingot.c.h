// The public API for C: the functions of ingot.h, with handles and status codes.
//
// A function that can fail returns a status; ingot_last_error() returns the message. After a
// failure all outputs are null, and counts are 0. An array may be null if its count is 0. No
// exception leaves a function, and callbacks must not throw. Strings are UTF-8 and end in NUL; a
// string that may contain NUL comes with its length. The caller owns each output, and frees it with
// the function that the output's comment names. Pointers inside a struct live as long as the
// struct's owner. The ingot_default_* functions make options and requests with default values.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The result of a call.
typedef enum ingot_status {
  INGOT_OK = 0,
  INGOT_INVALID,       ///< a wrong option or request; the message names the field
  INGOT_MODEL,         ///< a model, tokenizer or session file cannot be used
  INGOT_DOES_NOT_FIT,  ///< not enough memory; the message has the numbers
  INGOT_IO,            ///< an open file could not be read, or a file could not be written
  INGOT_BUSY,          ///< too many requests wait or are paused; try again later
  INGOT_NOT_FINITE,    ///< computing the request gave NaN or infinities; other requests continue
  INGOT_INTERNAL       ///< a bug in ingot
} ingot_status;

/// Number type of cached keys and values.
typedef enum ingot_kv_type {
  INGOT_KV_AUTO = -1,  ///< the model's own type: see OpenOptions of ingot.h
  INGOT_KV_F16 = 0,
  INGOT_KV_F32,
  INGOT_KV_BF16,
  INGOT_KV_INT8,
  INGOT_KV_TYPE_MAX = 0x7FFFFFFF /* makes every int a valid value of the enum */
} ingot_kv_type;

/// How memory holds weights: see Weights of ingot.h.
typedef enum ingot_weights {
  INGOT_WEIGHTS_STORED = 0,
  INGOT_WEIGHTS_Q8_0,
  INGOT_WEIGHTS_Q4_K,
  INGOT_WEIGHTS_BF16,
  INGOT_WEIGHTS_F32,
  INGOT_WEIGHTS_MAX = 0x7FFFFFFF /* makes every int a valid value of the enum */
} ingot_weights;

/// Which drafts a request uses: see SpeculationMode of ingot.h.
typedef enum ingot_speculation_mode {
  INGOT_SPECULATION_AUTO = 0,
  INGOT_SPECULATION_OFF,
  INGOT_SPECULATION_LOOKUP,
  INGOT_SPECULATION_DRAFT,
  INGOT_SPECULATION_MAX = 0x7FFFFFFF /* makes every int a valid value of the enum */
} ingot_speculation_mode;

/// Why a request ended.
typedef enum ingot_finish {
  INGOT_STOP = 0,  ///< the request drew an end token, or a stop string appeared
  INGOT_LENGTH,    ///< the request reached max_tokens or the end of the context
  INGOT_CANCELLED  ///< the reader or the callback cancelled the request, or the engine closed
} ingot_finish;

/// One model, ready to run, and its running requests.
typedef struct ingot_engine ingot_engine;
/// Delivers the deltas of a running request to its reader.
typedef struct ingot_stream ingot_stream;
/// A sequence that lives on between requests: see LiveSequence of ingot.h.
typedef struct ingot_sequence ingot_sequence;

/// Which model to open, and how to run it. OpenOptions of ingot.h explains each member.
typedef struct ingot_open_options {
  const char* path;
  int32_t threads;
  const char* isa;
  ingot_kv_type kv_type;  ///< INGOT_KV_AUTO (default): the model's own type
  ingot_weights weights;
  int64_t context;
  int32_t sequences;
  int32_t step_rows;
  int64_t memory_limit;
  bool check_tensors;
  bool embedding;          ///< true (default): loads the embedding matrix
  bool head;               ///< true (default): loads the output head
  const char* pack_cache;  ///< folder in which ingot keeps packed weights; null: none
  size_t waiting_max;
  size_t deltas_max;
  double stall_seconds;  ///< seconds until the engine cancels a paused request; 0 (default): never
  bool prefix_cache;     ///< true (default): keeps the keys and values of prompts and results
  double target_itl_seconds;
  bool by_priority;
  const char* draft;     ///< "lookup" or the path of a draft model; null: no drafts
  int32_t draft_tokens;  ///< 0 (default): as many as pay
  bool sessions;         ///< true: allows ingot_save_session and ingot_restore_session
  bool threadless;
  /// Loading calls this with the loaded and total bytes; false cancels loading. May be null.
  bool (*progress)(void* user, uint64_t done, uint64_t total);
  void* user;  ///< passed to `progress`
} ingot_open_options;

/// Properties of the opened model. The texts of this struct belong to the engine.
typedef struct ingot_info {
  const char* path;
  const char* architecture;
  const char* isa;
  int64_t vocab;
  int64_t hidden;
  int64_t layers;
  int64_t context;
  ingot_kv_type kv_type;  ///< never INGOT_KV_AUTO
  bool has_tokenizer;
  size_t warnings;  ///< number of warnings; see ingot_warning
} ingot_info;

/// The beginning of a sequence: embedding rows, if any, then a text or ids. The caller may free the
/// prompt when the call that takes the prompt has returned.
typedef struct ingot_prompt {
  /// The prompt's text; null: no text. A text of 0 bytes is valid if the tokenizer adds BOS.
  const char* text;
  size_t text_bytes;
  /// True (default): adds BOS and EOS as the tokenizer's file says. A prompt that the
  /// model continues gets no EOS.
  bool add_special;
  bool parse_special;  ///< true: a control token's name in the text becomes that token
  const int32_t* ids;  ///< token ids, if the prompt has no text
  size_t id_count;
  const float* embeddings;  ///< n embeddings of H floats each; H is ingot_info.hidden
  size_t embedding_values;  ///< number of floats in `embeddings`: n * H
  /// The live sequence to whose rows the prompt is appended; null: the prompt begins a sequence.
  ingot_sequence* sequence;
} ingot_prompt;

/// Which hidden states to compute. HiddenOptions of ingot.h explains each member.
typedef struct ingot_hidden_options {
  bool all_rows;
  bool final_norm;
  int64_t first_row;
  int64_t row_count;
} ingot_hidden_options;

/// A bias that sampling adds to one token's logit, in [-100, 100]; -infinity bans the token.
typedef struct ingot_logit_bias {
  int32_t id;
  float bias;
} ingot_logit_bias;

/// A prompt and how to continue it. Request and Sampling of ingot.h explain each member.
typedef struct ingot_request {
  ingot_prompt prompt;
  float temperature;
  int32_t top_k;
  float top_p;
  float min_p;
  float typical_p;
  float repetition_penalty;
  float presence_penalty;
  float frequency_penalty;
  const ingot_logit_bias* logit_bias;
  size_t logit_bias_count;
  float dry_multiplier;
  float dry_base;
  int32_t dry_allowed_length;
  int32_t dry_penalty_last_n;
  const char* const* dry_sequence_breakers;  ///< each ends in NUL
  size_t dry_sequence_breaker_count;
  const char* const* bad_words;  ///< each ends in NUL
  size_t bad_word_count;
  const int32_t* allowed_token_ids;
  size_t allowed_token_count;
  float top_n_sigma;
  int32_t mirostat;
  float mirostat_tau;
  float mirostat_eta;
  float xtc_probability;
  float xtc_threshold;
  uint64_t seed;
  uint32_t choice;
  int64_t continued;
  int64_t max_tokens;
  int64_t min_tokens;
  const char* const* stop;  ///< stop strings, each ending in NUL
  size_t stop_count;
  const int32_t* stop_token_ids;
  size_t stop_token_count;
  bool ignore_eos;
  int32_t logprobs;
  int32_t prompt_logprobs;
  bool digest;
  int32_t priority;
  uint64_t tenant;
  uint64_t domain;
  ingot_speculation_mode speculation_mode;
  int32_t speculation_tokens;  ///< -1 (default): those of ingot_open_options
  double max_ttft_seconds;
  double deadline_seconds;
} ingot_request;

/// A token and the logarithm of its probability.
typedef struct ingot_token_score {
  int32_t id;
  float logprob;
} ingot_token_score;

/// A token's log-probability, and the most likely tokens at its position, most likely first.
typedef struct ingot_token_logprobs {
  ingot_token_score token;
  const ingot_token_score* top;
  size_t top_count;
} ingot_token_logprobs;

/// New tokens and text since the previous delta.
typedef struct ingot_delta {
  const int32_t* ids;
  size_t id_count;
  const char* text;
  size_t text_bytes;
  const ingot_token_logprobs* logprobs;  ///< one entry for each id; null if not requested
} ingot_delta;

/// The result of a whole request. Free it with ingot_result_free.
typedef struct ingot_result {
  const int32_t* prompt_ids;
  size_t prompt_id_count;
  const int32_t* ids;
  size_t id_count;
  const char* text;
  size_t text_bytes;
  ingot_finish finish;
  const ingot_token_logprobs* logprobs;  ///< one entry for each id; null if not requested
  const ingot_token_logprobs* prompt_logprobs;
  size_t prompt_logprob_count;
  const char* digest;
  int64_t cached_tokens;
  int64_t drafted;
  int64_t accepted;
  double prefill_seconds;
  double decode_seconds;
} ingot_result;

/// The contents of a session file. Free them with ingot_session_free.
typedef struct ingot_session {
  ingot_request request;    ///< continues the saved request; the session owns the request's arrays
  int64_t restored_tokens;  ///< number of prompt tokens with restored keys and values
} ingot_session;

/// Receives a delta, valid until the callback returns. Returns false to cancel the request.
typedef bool (*ingot_callback)(void* user, const ingot_delta* delta);

/// Receives a delta of request `index`, valid until the callback returns. Returns false to cancel
/// the request.
typedef bool (*ingot_batch_callback)(void* user, size_t index, const ingot_delta* delta);
/// Receives the end of request `index`. `result` is null unless `status` is INGOT_OK; then
/// ingot_last_error() has the message. `result` is valid until the callback returns.
typedef void (*ingot_batch_end)(void* user, size_t index, ingot_status status,
                                const ingot_result* result);

/// Returns the version of the library, as "1.2.3".
const char* ingot_version(void);
/// Returns this thread's last error message, one line. It is valid until the thread's next failure.
const char* ingot_last_error(void);

/// Returns options with default values; the caller must set `path`.
ingot_open_options ingot_default_open_options(void);
/// Returns a request with default values; the caller must set `prompt`.
ingot_request ingot_default_request(void);
/// Returns options with default values: the last row, after the final norm.
ingot_hidden_options ingot_default_hidden_options(void);

/// Opens a model. Free `*engine` with ingot_close.
ingot_status ingot_open(const ingot_open_options* options, ingot_engine** engine);
/// Cancels all requests and frees the engine; null is allowed. Streams may outlive the engine.
void ingot_close(ingot_engine* engine);
/// Returns the model's properties. Their texts live as long as the engine.
ingot_info ingot_engine_info(const ingot_engine* engine);
/// Returns warning `i`, an assumption made while opening the model; null if `i` is not below
/// `ingot_info.warnings`. The string belongs to the engine.
const char* ingot_warning(const ingot_engine* engine, size_t i);

/// Encodes a text to token ids. Free `*ids` with ingot_free.
ingot_status ingot_encode(const ingot_engine* engine, const char* text, size_t text_bytes,
                          bool add_special, bool parse_special, int32_t** ids, size_t* id_count);
/// Decodes token ids to a text of whole characters. Free `*text` with ingot_free.
ingot_status ingot_decode(const ingot_engine* engine, const int32_t* ids, size_t id_count,
                          char** text, size_t* text_bytes);

/// Runs a request to its end, in one batch with other requests. `callback` may be null. If it
/// returns false, the request is cancelled, and the result has the deltas that `callback` received.
/// Free `*result` with ingot_result_free.
ingot_status ingot_generate(ingot_engine* engine, const ingot_request* request,
                            ingot_callback callback, void* user, ingot_result** result);
/// Adds a request to the running batch. Free `*stream` with ingot_stream_free.
ingot_status ingot_submit(ingot_engine* engine, const ingot_request* request,
                          ingot_stream** stream);
/// Adds `n` choices of one prompt. The engine computes the prompt once. `streams` has room for `n`
/// streams. Free each stream with ingot_stream_free. After a failure all streams are null.
ingot_status ingot_submit_choices(ingot_engine* engine, const ingot_request* request, int32_t n,
                                  ingot_stream** streams);
/// Runs `count` requests to their ends, in one batch with other requests. An error of a request
/// ends no other request. Callbacks run in the calling thread; each may be null. `user` goes to
/// both.
ingot_status ingot_generate_all(ingot_engine* engine, const ingot_request* requests, size_t count,
                                ingot_batch_callback callback, ingot_batch_end end, void* user);
/// Makes a live sequence without rows. Free `*sequence` with ingot_sequence_free.
ingot_status ingot_open_sequence(ingot_engine* engine, ingot_sequence** sequence);
/// Returns the number of the sequence's rows.
int64_t ingot_sequence_rows(const ingot_sequence* sequence);
/// Drops all rows but the first `rows`.
ingot_status ingot_sequence_truncate(ingot_sequence* sequence, int64_t rows);
/// Frees a live sequence; null is allowed. It may outlive the engine, and streams may outlive it.
void ingot_sequence_free(ingot_sequence* sequence);
/// Runs a step of a threadless engine. Sets `*more` to whether requests remain; `more` may be null.
ingot_status ingot_step(ingot_engine* engine, bool* more);
/// Computes the hidden states of a prompt's rows. `*values` has [rows, cols] floats. Free `*values`
/// with ingot_free.
ingot_status ingot_hidden_states(ingot_engine* engine, const ingot_prompt* prompt,
                                 const ingot_hidden_options* options, float** values, size_t* rows,
                                 size_t* cols);

/// Writes a session file, from which a process continues `request` after `result`. Sets `*tokens`
/// to the number of tokens with keys and values in the file; null is allowed. Errors: INGOT_INVALID
/// without `sessions` or for embeddings; INGOT_IO; INGOT_BUSY (retry later); INGOT_DOES_NOT_FIT.
ingot_status ingot_save_session(ingot_engine* engine, const char* path,
                                const ingot_request* request, const ingot_result* result,
                                int64_t* tokens);
/// Restores a session file for requests of `domain`. Free `*session` with ingot_session_free.
/// Errors: INGOT_INVALID without `sessions`; INGOT_MODEL for a damaged file or a file of another
/// model, with nothing restored; INGOT_IO if the file changes meanwhile; INGOT_BUSY (retry later);
/// INGOT_DOES_NOT_FIT.
ingot_status ingot_restore_session(ingot_engine* engine, const char* path, uint64_t domain,
                                   ingot_session** session);

/// Waits for the next delta; null at the end. `*delta` lives until the stream's next call. Errors:
/// INGOT_BUSY if paused requests block a threadless engine: read or free their streams.
ingot_status ingot_stream_next(ingot_stream* stream, const ingot_delta** delta);
/// Sets `*delta` to the next delta if one is available now, else to null.
ingot_status ingot_stream_try_next(ingot_stream* stream, const ingot_delta** delta);
/// Returns whether the request has ended and the caller has read every delta.
bool ingot_stream_finished(const ingot_stream* stream);
/// Cancels the request. Thread-safe.
void ingot_stream_cancel(ingot_stream* stream);
/// Reads all deltas and sets `*result`. Succeeds only once. Free `*result` with ingot_result_free.
ingot_status ingot_stream_result(ingot_stream* stream, ingot_result** result);
/// Cancels the request if it still runs, and frees the stream; null is allowed.
void ingot_stream_free(ingot_stream* stream);

/// Frees a result; null is allowed.
void ingot_result_free(ingot_result* result);
/// Frees a session; null is allowed.
void ingot_session_free(ingot_session* session);
/// Frees ids, texts or values that a function of this API returned; null is allowed.
void ingot_free(void* memory);

#ifdef __cplusplus
}
#endif
