// The public API for C: what ingot.h offers, with handles and status codes.
//
// Functions that can fail return a status; what went wrong in words is ingot_last_error(). Where
// one fails, what it would have handed out is null, and counts are 0. An array may be null where
// its count is 0. No exception leaves them, and a callback must not let one through. Strings are
// UTF-8, come with their length where they may hold NUL, and end in NUL all the same. What a
// function hands out belongs to the caller and goes back through the function named with it;
// pointers inside a struct live as long as that struct's owner. Options begin as the
// ingot_default_* functions give them.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// How a call ended.
typedef enum ingot_status {
  INGOT_OK = 0,
  INGOT_INVALID,       ///< an option or a request is wrong; the message names it
  INGOT_MODEL,         ///< a model, tokenizer or session file was refused
  INGOT_DOES_NOT_FIT,  ///< not enough memory, with the numbers
  INGOT_IO,            ///< reading failed after opening, or a file could not be written
  INGOT_BUSY,          ///< too many requests wait or are paused; again later
  INGOT_NOT_FINITE,    ///< the request met NaN or infinities; others go on
  INGOT_INTERNAL       ///< a bug in ingot
} ingot_status;

/// Type of cached keys and values.
typedef enum ingot_kv_type {
  INGOT_KV_F16 = 0,
  INGOT_KV_F32,
  INGOT_KV_BF16,
  INGOT_KV_INT8,
  INGOT_KV_TYPE_MAX = 0x7FFFFFFF /* any int is a value, if not a known one */
} ingot_kv_type;

/// How weights are held: see Weights of ingot.h.
typedef enum ingot_weights {
  INGOT_WEIGHTS_STORED = 0,
  INGOT_WEIGHTS_Q8_0,
  INGOT_WEIGHTS_Q4_K,
  INGOT_WEIGHTS_MAX = 0x7FFFFFFF /* any int is a value, if not a known one */
} ingot_weights;

/// Why a request ended.
typedef enum ingot_finish {
  INGOT_STOP = 0,  ///< an end token was drawn, or a stop string appeared
  INGOT_LENGTH,    ///< max_tokens or the context's end
  INGOT_CANCELLED  ///< its reader or callback said so, or the engine went away
} ingot_finish;

/// One model, ready to run, and the requests that are under way.
typedef struct ingot_engine ingot_engine;
/// The reading end of a request that is under way.
typedef struct ingot_stream ingot_stream;

/// What is opened, and how it is run; each member as in OpenOptions of ingot.h.
typedef struct ingot_open_options {
  const char* path;
  int32_t threads;
  const char* isa;
  ingot_kv_type kv_type;
  ingot_weights weights;
  int64_t context;
  int32_t sequences;
  int32_t step_rows;
  int64_t memory_limit;
  bool check_tensors;
  const char* pack_cache;  ///< may be null: none
  size_t waiting_max;
  size_t deltas_max;
  double stall_seconds;  ///< 0, the default: none
  bool prefix_cache;     ///< true by default
  double target_itl_seconds;
  bool by_priority;
  bool sessions;  ///< for ingot_save_session and ingot_restore_session
  bool threadless;
  /// Returns whether to go on loading; may be null.
  bool (*progress)(void* user, uint64_t done, uint64_t total);
  void* user;  ///< handed to `progress`
} ingot_open_options;

/// What was opened. Its texts belong to the engine.
typedef struct ingot_info {
  const char* path;
  const char* architecture;
  const char* isa;
  int64_t vocab;
  int64_t hidden;
  int64_t layers;
  int64_t context;
  bool has_tokenizer;
  size_t warnings;  ///< see ingot_warning
} ingot_info;

/// What is to be continued: embedding rows, if any, and after them a text or ids. Nothing of it is
/// needed once the call has returned.
typedef struct ingot_prompt {
  /// Null: none. One of 0 bytes is a prompt too: BOS, where it is added.
  const char* text;
  size_t text_bytes;
  bool add_special;    ///< BOS and EOS where the tokenizer's file puts them; true by default
  bool parse_special;  ///< control tokens written out in the text become tokens
  const int32_t* ids;  ///< in place of text
  size_t id_count;
  const float* embeddings;  ///< [n, H], row by row
  size_t embedding_values;  ///< n * H
} ingot_prompt;

/// A value that is added to one token's logit.
typedef struct ingot_logit_bias {
  int32_t id;
  float bias;
} ingot_logit_bias;

/// A prompt and how it goes on; each member as in Request and Sampling of ingot.h.
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
  uint64_t seed;
  uint32_t choice;
  int64_t continued;
  int64_t max_tokens;
  int64_t min_tokens;
  const char* const* stop;  ///< strings that end in NUL
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
  double max_ttft_seconds;
  double deadline_seconds;
} ingot_request;

/// A token and the logarithm of its probability.
typedef struct ingot_token_score {
  int32_t id;
  float logprob;
} ingot_token_score;

/// How likely a token was, and which were the likeliest, falling.
typedef struct ingot_token_logprobs {
  ingot_token_score token;
  const ingot_token_score* top;
  size_t top_count;
} ingot_token_logprobs;

/// What came since the last one.
typedef struct ingot_delta {
  const int32_t* ids;
  size_t id_count;
  const char* text;
  size_t text_bytes;
  const ingot_token_logprobs* logprobs;  ///< one for each id, or null
} ingot_delta;

/// All that came of a request. Goes back through ingot_result_free.
typedef struct ingot_result {
  const int32_t* prompt_ids;
  size_t prompt_id_count;
  const int32_t* ids;
  size_t id_count;
  const char* text;
  size_t text_bytes;
  ingot_finish finish;
  const ingot_token_logprobs* logprobs;  ///< one for each id, or null
  const ingot_token_logprobs* prompt_logprobs;
  size_t prompt_logprob_count;
  const char* digest;
  int64_t cached_tokens;
  double prefill_seconds;
  double decode_seconds;
} ingot_result;

/// What a session file held. Goes back through ingot_session_free.
typedef struct ingot_session {
  ingot_request request;    ///< goes on where the saved one ended; its arrays are the session's
  int64_t restored_tokens;  ///< of the prompt: they need not be computed again
} ingot_session;

/// Told each piece, which lives until it returns; returns whether to go on.
typedef bool (*ingot_callback)(void* user, const ingot_delta* delta);

/// The version of the library, as "1.2.3".
const char* ingot_version(void);
/// Why the newest failed call of this thread failed, one line; valid until the next failure.
const char* ingot_last_error(void);

/// The defaults, to be changed as wanted; `path` has to be.
ingot_open_options ingot_default_open_options(void);
/// The defaults, to be changed as wanted; `prompt` has to be.
ingot_request ingot_default_request(void);

/// Opens a model. `*engine` goes back through ingot_close.
ingot_status ingot_open(const ingot_open_options* options, ingot_engine** engine);
/// Cancels what is under way and frees the engine; null is allowed. Streams may outlive it.
void ingot_close(ingot_engine* engine);
/// What was opened; lives as long as the engine.
ingot_info ingot_engine_info(const ingot_engine* engine);
/// What was assumed while opening: one of `ingot_info.warnings` lines, null past the last. The
/// engine's.
const char* ingot_warning(const ingot_engine* engine, size_t i);

/// The ids of a text. `*ids` goes back through ingot_free.
ingot_status ingot_encode(const ingot_engine* engine, const char* text, size_t text_bytes,
                          bool add_special, bool parse_special, int32_t** ids, size_t* id_count);
/// The text of ids, in whole characters. `*text` goes back through ingot_free.
ingot_status ingot_decode(const ingot_engine* engine, const int32_t* ids, size_t id_count,
                          char** text, size_t* text_bytes);

/// Runs a request to its end beside whatever else is under way. `callback` may be null; when it
/// returns false the request is cancelled, and the result is what the callback has seen.
/// `*result` goes back through ingot_result_free.
ingot_status ingot_generate(ingot_engine* engine, const ingot_request* request,
                            ingot_callback callback, void* user, ingot_result** result);
/// Adds a request to the running batch. `*stream` goes back through ingot_stream_free.
ingot_status ingot_submit(ingot_engine* engine, const ingot_request* request,
                          ingot_stream** stream);
/// Adds `n` continuations of one prompt, which is computed once: `streams` has room for so many,
/// each of which goes back through ingot_stream_free. All of them are null where it fails.
ingot_status ingot_submit_choices(ingot_engine* engine, const ingot_request* request, int32_t n,
                                  ingot_stream** streams);
/// One step of a threadless engine; `*more` says whether requests are left and may be null.
ingot_status ingot_step(ingot_engine* engine, bool* more);
/// The hidden states of a prompt's rows, the last one or all, after the final norm or before it:
/// [rows, cols] floats. `*values` goes back through ingot_free.
ingot_status ingot_hidden_states(ingot_engine* engine, const ingot_prompt* prompt, bool all_rows,
                                 bool final_norm, float** values, size_t* rows, size_t* cols);

/// Writes a file to go on from: what `request` had given when `result` was made of it, and its keys
/// and values. `*tokens`, how many tokens have keys in it, may be null. INGOT_INVALID without
/// `sessions` or for embeddings; INGOT_IO; INGOT_BUSY, again later; INGOT_DOES_NOT_FIT.
ingot_status ingot_save_session(ingot_engine* engine, const char* path,
                                const ingot_request* request, const ingot_result* result,
                                int64_t* tokens);
/// Takes a file over for requests of `domain`. `*session` goes back through ingot_session_free.
/// INGOT_INVALID without `sessions`; INGOT_MODEL for a file that is damaged or of another model,
/// with nothing changed; INGOT_IO when it changes meanwhile; INGOT_BUSY, again later;
/// INGOT_DOES_NOT_FIT.
ingot_status ingot_restore_session(ingot_engine* engine, const char* path, uint64_t domain,
                                   ingot_session** session);

/// The next piece, waiting for it. `*delta` is the stream's and lives until its next call; null at
/// the end. INGOT_BUSY, in a threadless engine: others have to be read or freed first.
ingot_status ingot_stream_next(ingot_stream* stream, const ingot_delta** delta);
/// The next piece if there is one now, else null.
ingot_status ingot_stream_try_next(ingot_stream* stream, const ingot_delta** delta);
/// Whether the request has ended and every piece was read.
bool ingot_stream_finished(const ingot_stream* stream);
/// Ends the request soon; from any thread.
void ingot_stream_cancel(ingot_stream* stream);
/// Reads to the end. `*result`, which can be had once, goes back through ingot_result_free.
ingot_status ingot_stream_result(ingot_stream* stream, ingot_result** result);
/// Cancels the request where it still runs and frees the stream; null is allowed.
void ingot_stream_free(ingot_stream* stream);

/// Frees a result; null is allowed.
void ingot_result_free(ingot_result* result);
/// Frees a session; null is allowed.
void ingot_session_free(ingot_session* session);
/// Frees ids, text or values that a function handed out; null is allowed.
void ingot_free(void* memory);

#ifdef __cplusplus
}
#endif
