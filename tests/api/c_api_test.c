// The C API from C11: every function, and that a wrong call is told and does no harm.
//
// usage: c_api_test MODEL
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ingot/ingot.c.h"

#define EXPECT(condition)                                                                          \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "%s:%d: %s does not hold; last error: %s\n", __FILE__, __LINE__, #condition, \
              ingot_last_error());                                                                 \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

static ingot_engine* open_model(const char* path, bool threadless) {
  ingot_open_options options = ingot_default_open_options();
  options.path = path;
  options.threads = 2;
  options.context = 128;
  options.threadless = threadless;
  options.sessions = threadless;
  ingot_engine* engine = NULL;
  EXPECT(ingot_open(&options, &engine) == INGOT_OK);
  return engine;
}

static ingot_request a_request(const char* text) {
  ingot_request request = ingot_default_request();
  request.prompt.text = text;
  request.prompt.text_bytes = strlen(text);
  request.max_tokens = 20;
  request.digest = true;
  return request;
}

typedef struct seen {
  size_t pieces;
  size_t pieces_max;
  size_t ids;
  size_t bytes;
} seen;

static bool count(void* user, const ingot_delta* delta) {
  seen* s = user;
  s->ids += delta->id_count;
  s->bytes += delta->text_bytes;
  return ++s->pieces < s->pieces_max;
}

static ingot_result* generate(ingot_engine* engine, const char* text) {
  const ingot_request request = a_request(text);
  ingot_result* result = NULL;
  EXPECT(ingot_generate(engine, &request, NULL, NULL, &result) == INGOT_OK);
  return result;
}

static void expect_equal(const ingot_result* a, const ingot_result* b) {
  EXPECT(a->id_count == b->id_count);
  EXPECT(memcmp(a->ids, b->ids, a->id_count * sizeof a->ids[0]) == 0);
  EXPECT(strcmp(a->text, b->text) == 0);
  EXPECT(strlen(a->digest) == 16 && strcmp(a->digest, b->digest) == 0);
}

static void test_generate(ingot_engine* engine) {
  const ingot_info info = ingot_engine_info(engine);
  EXPECT(info.vocab == 320 && info.hidden == 64 && info.context == 128 && info.has_tokenizer);
  EXPECT(strcmp(info.architecture, "llama") == 0 && info.kv_type == INGOT_KV_F16);
  EXPECT(ingot_warning(engine, info.warnings) == NULL);

  const ingot_request request = a_request("the he");
  seen all = {0, 1000, 0, 0};
  ingot_result* whole = NULL;
  EXPECT(ingot_generate(engine, &request, count, &all, &whole) == INGOT_OK);
  EXPECT(whole->finish == INGOT_LENGTH && whole->id_count == 20);
  EXPECT(all.ids == whole->id_count && all.bytes == whole->text_bytes);

  seen some = {0, 3, 0, 0};
  ingot_result* cut = NULL;
  EXPECT(ingot_generate(engine, &request, count, &some, &cut) == INGOT_OK);
  EXPECT(cut->finish == INGOT_CANCELLED && cut->id_count == 3);
  EXPECT(memcmp(cut->ids, whole->ids, 3 * sizeof cut->ids[0]) == 0);
  ingot_result_free(cut);
  ingot_result_free(whole);
}

/// Two requests in one batch, one read piece by piece, and one that is cancelled.
static void test_streams(ingot_engine* engine) {
  ingot_result* one = generate(engine, "the he");
  ingot_result* two = generate(engine, "in an");
  ingot_request request = a_request("the he");
  ingot_stream *first = NULL, *second = NULL, *third = NULL;
  EXPECT(ingot_submit(engine, &request, &first) == INGOT_OK);
  request = a_request("in an");
  EXPECT(ingot_submit(engine, &request, &second) == INGOT_OK);
  EXPECT(ingot_submit(engine, &request, &third) == INGOT_OK);
  ingot_stream_cancel(third);
  size_t ids = 0;
  const ingot_delta* delta = NULL;
  for (;;) {
    EXPECT(ingot_stream_next(first, &delta) == INGOT_OK);
    if (delta == NULL) break;
    EXPECT(memcmp(delta->ids, one->ids + ids, delta->id_count * sizeof delta->ids[0]) == 0);
    ids += delta->id_count;
  }
  EXPECT(ingot_stream_finished(first) && ids == one->id_count);
  ingot_result *a = NULL, *b = NULL;
  EXPECT(ingot_stream_result(first, &a) == INGOT_OK);
  EXPECT(ingot_stream_result(second, &b) == INGOT_OK);
  expect_equal(a, one);
  expect_equal(b, two);
  ingot_result* again = NULL;
  EXPECT(ingot_stream_result(second, &again) == INGOT_INVALID && again == NULL);
  ingot_stream_free(first);
  ingot_stream_free(second);
  ingot_stream_free(third);
  ingot_result_free(a);
  ingot_result_free(b);
  ingot_result_free(one);
  ingot_result_free(two);
}

/// Continuations of one prompt, of which the first is what it is alone.
static void test_choices(ingot_engine* engine) {
  ingot_result* one = generate(engine, "the he");
  ingot_request request = a_request("the he");
  ingot_stream* streams[2] = {NULL, NULL};
  EXPECT(ingot_submit_choices(engine, &request, 2, streams) == INGOT_OK);
  ingot_result *first = NULL, *second = NULL;
  EXPECT(ingot_stream_result(streams[0], &first) == INGOT_OK);
  EXPECT(ingot_stream_result(streams[1], &second) == INGOT_OK);
  expect_equal(first, one);
  EXPECT(second->id_count > 0);
  for (int i = 0; i < 2; ++i) ingot_stream_free(streams[i]);
  ingot_result_free(first);
  ingot_result_free(second);
  ingot_result_free(one);
  EXPECT(ingot_submit_choices(engine, &request, 0, streams) == INGOT_INVALID);
}

/// Keys that are computed for a domain are used within it alone; times are checked.
static void test_sharing(ingot_engine* engine) {
  int32_t ids[40];
  for (int i = 0; i < 40; ++i) ids[i] = 263 + i % 3;
  ingot_request request = ingot_default_request();
  request.prompt.ids = ids;
  request.prompt.id_count = 40;
  request.max_tokens = 1;
  request.priority = 2;
  request.tenant = 3;
  for (int i = 0; i < 3; ++i) {
    request.domain = i < 2 ? 77 : 78;
    ingot_result* result = NULL;
    EXPECT(ingot_generate(engine, &request, NULL, NULL, &result) == INGOT_OK);
    EXPECT(result->cached_tokens == (i == 1 ? 32 : 0));
    ingot_result_free(result);
  }
  ingot_stream* stream = NULL;
  request.deadline_seconds = -1;
  EXPECT(ingot_submit(engine, &request, &stream) == INGOT_INVALID && stream == NULL);
  request.deadline_seconds = 0;
  request.max_ttft_seconds = -1;
  EXPECT(ingot_submit(engine, &request, &stream) == INGOT_INVALID && stream == NULL);
}

static void test_steps(ingot_engine* engine, ingot_engine* threadless) {
  const ingot_request request = a_request("the he");
  ingot_stream* stream = NULL;
  EXPECT(ingot_submit(threadless, &request, &stream) == INGOT_OK);
  const ingot_delta* delta = NULL;
  EXPECT(ingot_stream_try_next(stream, &delta) == INGOT_OK && delta == NULL);
  bool more = true;
  int steps = 0;
  for (; more; ++steps) EXPECT(ingot_step(threadless, &more) == INGOT_OK);
  EXPECT(steps == 20);
  EXPECT(ingot_stream_try_next(stream, &delta) == INGOT_OK && delta != NULL);
  ingot_result* result = NULL;
  EXPECT(ingot_stream_result(stream, &result) == INGOT_OK);
  ingot_result* expected = generate(engine, "the he");
  expect_equal(result, expected);
  ingot_result_free(result);
  ingot_result_free(expected);
  ingot_stream_free(stream);
  EXPECT(ingot_step(engine, NULL) == INGOT_INVALID);
  EXPECT(strcmp(ingot_last_error(), "step: this engine has a thread") == 0);
}

/// Half of a request, a file, and the other half.
static void test_sessions(ingot_engine* engine, ingot_engine* with_sessions) {
  char path[] = "c_api_session_XXXXXX";
  const int file = mkstemp(path);
  EXPECT(file >= 0 && close(file) == 0);
  ingot_result* whole = generate(with_sessions, "the hen and the egg in the morning");
  ingot_request request = a_request("the hen and the egg in the morning");
  request.max_tokens = 8;
  ingot_result *half = NULL, *rest = NULL;
  EXPECT(ingot_generate(with_sessions, &request, NULL, NULL, &half) == INGOT_OK);
  int64_t tokens = 0;
  EXPECT(ingot_save_session(with_sessions, path, &request, half, &tokens) == INGOT_OK);
  EXPECT(tokens >= 16 && tokens % 16 == 0);
  ingot_session* session = NULL;
  EXPECT(ingot_restore_session(with_sessions, path, 0, &session) == INGOT_OK);
  EXPECT(session->restored_tokens == tokens && session->request.continued == 8);
  session->request.max_tokens = 12;
  EXPECT(ingot_generate(with_sessions, &session->request, NULL, NULL, &rest) == INGOT_OK);
  EXPECT(rest->id_count == 12 && memcmp(rest->ids, whole->ids + 8, 12 * sizeof whole->ids[0]) == 0);
  ingot_session_free(session);

  EXPECT(ingot_save_session(with_sessions, NULL, &request, half, NULL) == INGOT_INVALID);
  EXPECT(strcmp(ingot_last_error(), "path: a null pointer") == 0);
  EXPECT(ingot_save_session(with_sessions, "nowhere/file", &request, half, NULL) == INGOT_IO);
  EXPECT(ingot_save_session(engine, path, &request, half, NULL) == INGOT_INVALID);
  session = (ingot_session*)path;
  EXPECT(ingot_restore_session(engine, path, 0, &session) == INGOT_INVALID && session == NULL);
  EXPECT(ingot_restore_session(with_sessions, "nowhere", 0, &session) == INGOT_MODEL);
  ingot_session_free(NULL);
  ingot_result_free(whole);
  ingot_result_free(half);
  ingot_result_free(rest);
  EXPECT(remove(path) == 0);
}

static void test_tokens_and_rows(ingot_engine* engine) {
  int32_t* ids = NULL;
  size_t id_count = 0;
  EXPECT(ingot_encode(engine, "the hen", 7, true, false, &ids, &id_count) == INGOT_OK);
  char* text = NULL;
  size_t bytes = 0;
  EXPECT(ingot_decode(engine, ids, id_count, &text, &bytes) == INGOT_OK);
  EXPECT(bytes == 7 && strcmp(text, "the hen") == 0);
  ingot_request request = ingot_default_request();
  request.prompt.ids = ids;
  request.prompt.id_count = id_count;
  float *all = NULL, *last = NULL;
  size_t rows = 0, cols = 0;
  ingot_hidden_options hidden = ingot_default_hidden_options();
  hidden.all_rows = true;
  EXPECT(ingot_hidden_states(engine, &request.prompt, &hidden, &all, &rows, &cols) == INGOT_OK);
  EXPECT(rows == id_count && cols == 64);
  hidden = ingot_default_hidden_options();
  EXPECT(ingot_hidden_states(engine, &request.prompt, &hidden, &last, &rows, &cols) == INGOT_OK);
  EXPECT(rows == 1 && memcmp(last, all + (id_count - 1) * cols, cols * sizeof(float)) == 0);
  ingot_free(ids);
  ingot_free(text);
  ingot_free(all);
  ingot_free(last);
}

/// A live sequence takes embeddings, then ids, then embeddings again, and gives what one prompt of
/// all rows gives.
static void test_live_sequence(ingot_engine* engine) {
  enum { kCols = 64 };
  static float values[6 * kCols];
  for (size_t i = 0; i < 6 * kCols; ++i) values[i] = (float)(i % 7) / 7;
  ingot_sequence* sequence = NULL;
  EXPECT(ingot_open_sequence(engine, &sequence) == INGOT_OK && ingot_sequence_rows(sequence) == 0);
  ingot_prompt prompt = ingot_default_request().prompt;
  prompt.sequence = sequence;
  prompt.embeddings = values;
  prompt.embedding_values = 4 * kCols;
  ingot_hidden_options hidden = ingot_default_hidden_options();
  hidden.first_row = 1;
  hidden.row_count = 2;
  float* two = NULL;
  float* last = NULL;
  float* whole = NULL;
  size_t rows = 0, cols = 0;
  EXPECT(ingot_hidden_states(engine, &prompt, &hidden, &two, &rows, &cols) == INGOT_OK);
  EXPECT(rows == 2 && cols == kCols && ingot_sequence_rows(sequence) == 4);
  prompt.embeddings = values + 4 * kCols;
  prompt.embedding_values = 2 * kCols;
  hidden = ingot_default_hidden_options();
  EXPECT(ingot_hidden_states(engine, &prompt, &hidden, &last, &rows, &cols) == INGOT_OK);
  prompt.sequence = NULL;
  prompt.embeddings = values;
  prompt.embedding_values = 6 * kCols;
  hidden.all_rows = true;
  EXPECT(ingot_hidden_states(engine, &prompt, &hidden, &whole, &rows, &cols) == INGOT_OK);
  EXPECT(memcmp(two, whole + kCols, 2 * kCols * sizeof(float)) == 0);
  EXPECT(memcmp(last, whole + 5 * kCols, kCols * sizeof(float)) == 0);
  ingot_free(two);
  ingot_free(last);
  ingot_free(whole);

  ingot_request request = ingot_default_request();
  request.prompt.sequence = sequence;
  request.max_tokens = 3;
  ingot_result* result = NULL;
  EXPECT(ingot_generate(engine, &request, NULL, NULL, &result) == INGOT_OK);
  EXPECT(ingot_sequence_rows(sequence) == 6 + (int64_t)result->id_count);
  EXPECT(ingot_sequence_truncate(sequence, 99) == INGOT_INVALID);
  EXPECT(ingot_sequence_truncate(sequence, 5) == INGOT_OK && ingot_sequence_rows(sequence) == 5);
  ingot_result_free(result);
  ingot_sequence_free(sequence);
  ingot_sequence_free(NULL);
}

struct batch {
  size_t tokens[3];
  size_t ends[3];
  ingot_status status[3];
};

static bool count_tokens(void* user, size_t index, const ingot_delta* delta) {
  ((struct batch*)user)->tokens[index] += delta->id_count;
  return true;
}

static void note_end(void* user, size_t index, ingot_status status, const ingot_result* result) {
  struct batch* batch = user;
  ++batch->ends[index];
  batch->status[index] = status;
  EXPECT((result != NULL) == (status == INGOT_OK));
  if (result != NULL) EXPECT(result->id_count == batch->tokens[index]);
  if (result == NULL) EXPECT(strncmp(ingot_last_error(), "prompt", 6) == 0);
}

static void test_generate_all(ingot_engine* engine) {
  ingot_request requests[3] = {a_request("the he"), a_request("in an"), a_request("w")};
  requests[1].prompt.text = NULL;
  requests[1].prompt.text_bytes = 0;
  requests[2].max_tokens = 5;
  struct batch batch = {{0}, {0}, {INGOT_OK}};
  EXPECT(ingot_generate_all(engine, requests, 3, count_tokens, note_end, &batch) == INGOT_OK);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT(batch.ends[i] == 1);
    EXPECT(batch.status[i] == (i == 1 ? INGOT_INVALID : INGOT_OK));
  }
  EXPECT(batch.tokens[0] > 0 && batch.tokens[1] == 0 && batch.tokens[2] == 5);

  // A malformed request ends alone, and the others keep their indices.
  requests[1].prompt.id_count = 3;  // but the pointer is null
  const struct batch none = {{0}, {0}, {INGOT_OK}};
  batch = none;
  EXPECT(ingot_generate_all(engine, requests, 3, count_tokens, note_end, &batch) == INGOT_OK);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT(batch.ends[i] == 1);
    EXPECT(batch.status[i] == (i == 1 ? INGOT_INVALID : INGOT_OK));
  }
  EXPECT(batch.tokens[0] > 0 && batch.tokens[1] == 0 && batch.tokens[2] == 5);
  EXPECT(ingot_generate_all(engine, requests, 3, NULL, NULL, NULL) == INGOT_OK);
  EXPECT(ingot_generate_all(engine, NULL, 1, NULL, NULL, NULL) == INGOT_INVALID);
  EXPECT(ingot_generate_all(engine, NULL, 0, NULL, NULL, NULL) == INGOT_OK);
}

/// Failed calls hand out nothing, and null arrays are refused or empty, never read.
static void test_null_arrays(ingot_engine* engine) {
  int32_t some_ids[1] = {1};
  int32_t* ids = some_ids;
  size_t count = 7;
  EXPECT(ingot_encode(engine, NULL, 3, true, false, &ids, &count) == INGOT_INVALID);
  EXPECT(strcmp(ingot_last_error(), "text: a null pointer") == 0 && ids == NULL && count == 0);
  EXPECT(ingot_encode(engine, NULL, 0, true, false, &ids, &count) == INGOT_OK);
  EXPECT(count == 1 && ids[0] == 1);
  ingot_free(ids);
  char some_text[1] = "";
  char* text = some_text;
  count = 7;
  EXPECT(ingot_decode(engine, NULL, 2, &text, &count) == INGOT_INVALID);
  EXPECT(strcmp(ingot_last_error(), "ids: a null pointer") == 0 && text == NULL && count == 0);
  EXPECT(ingot_decode(engine, NULL, 0, &text, &count) == INGOT_OK && count == 0);
  ingot_free(text);

  ingot_request request = a_request("");
  request.max_tokens = 1;
  ingot_result* result = NULL;
  EXPECT(ingot_generate(engine, &request, NULL, NULL, &result) == INGOT_OK);
  EXPECT(result->prompt_id_count == 1 && result->prompt_ids[0] == 1);
  ingot_result_free(result);
  request.prompt.text = NULL;
  EXPECT(ingot_generate(engine, &request, NULL, NULL, &result) == INGOT_INVALID && result == NULL);
  float some_values[1] = {0};
  float* values = some_values;
  size_t rows = 7, cols = 7;
  const ingot_hidden_options hidden = ingot_default_hidden_options();
  EXPECT(ingot_hidden_states(engine, &request.prompt, &hidden, &values, &rows, &cols) ==
         INGOT_INVALID);
  EXPECT(values == NULL && rows == 0 && cols == 0);
}

static bool give_up(void* user, uint64_t done, uint64_t total) {
  (void)done;
  (void)total;
  ++*(int*)user;
  return false;
}

static void test_errors(ingot_engine* engine, const char* path) {
  ingot_open_options options = ingot_default_open_options();
  ingot_engine* none = engine;
  options.path = "nowhere.gguf";
  EXPECT(ingot_open(&options, &none) == INGOT_MODEL && none == NULL);
  EXPECT(strstr(ingot_last_error(), "nowhere.gguf") != NULL);
  options.path = path;
  options.kv_type = INGOT_KV_TYPE_MAX;
  EXPECT(ingot_open(&options, &none) == INGOT_INVALID && none == NULL);
  options.kv_type = INGOT_KV_F32;
  int calls = 0;
  options.progress = give_up;
  options.user = &calls;
  EXPECT(ingot_open(&options, &none) == INGOT_INVALID && none == NULL && calls == 1);
  ingot_request request = a_request("the he");
  request.temperature = -1;
  ingot_stream* const unset = (ingot_stream*)&request;
  ingot_stream* stream = unset;
  EXPECT(ingot_submit(engine, &request, &stream) == INGOT_INVALID && stream == NULL);
  EXPECT(strstr(ingot_last_error(), "temperature is -1") != NULL);
  ingot_close(NULL);
  ingot_stream_free(NULL);
  ingot_result_free(NULL);
  ingot_free(NULL);
}

int main(int argc, char** argv) {
  EXPECT(argc == 2);
  EXPECT(strchr(ingot_version(), '.') != NULL);
  ingot_engine* engine = open_model(argv[1], false);
  ingot_engine* threadless = open_model(argv[1], true);
  test_generate(engine);
  test_streams(engine);
  test_choices(engine);
  test_sharing(engine);
  test_streams(threadless);
  test_steps(engine, threadless);
  test_sessions(engine, threadless);
  test_tokens_and_rows(engine);
  test_live_sequence(engine);
  test_generate_all(engine);
  test_tokens_and_rows(threadless);
  test_null_arrays(engine);
  test_errors(engine, argv[1]);
  ingot_close(engine);
  ingot_close(threadless);
  return 0;
}
