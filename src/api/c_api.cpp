// The C API over the C++ API; no exception leaves it.
#include <cstdlib>
#include <cstring>
#include <new>

#include "api/c_convert.h"
#include "runtime/request_fields.h"

using namespace ingot::api;

/// The types behind the C handles.
struct ingot_engine {
  Engine engine;
};
struct ingot_stream {
  Stream stream;
  CDelta delta{};
};

namespace {

/// The last failure of this thread, in static memory: "out of memory" must have room too.
thread_local char last_error[1024] = "";

ingot_status fail(ingot_status status, const char* message) {
  std::strncpy(last_error, message, sizeof last_error - 1);
  return status;
}

ingot_status fail(const Error& error) {
  return fail(static_cast<ingot_status>(static_cast<int>(error.code()) + 1), error.what());
}

/// Runs `body` and turns what it throws into a status.
template <class Body>
ingot_status call(Body&& body) noexcept {
  try {
    body();
    return INGOT_OK;
  } catch (const Error& error) {
    return fail(error);
  } catch (const std::bad_alloc&) {
    return fail(INGOT_DOES_NOT_FIT, "out of memory");
  } catch (const std::exception& error) {
    return fail(INGOT_INTERNAL, error.what());
  } catch (...) {
    return fail(INGOT_INTERNAL, "an exception of unknown type");
  }
}

static_assert(static_cast<int>(ErrorCode::kInvalid) + 1 == INGOT_INVALID);
static_assert(static_cast<int>(ErrorCode::kInternal) + 1 == INGOT_INTERNAL);
static_assert(static_cast<int>(KvType::kBF16) == INGOT_KV_BF16);
static_assert(static_cast<int>(KvType::kInt8) == INGOT_KV_INT8);
static_assert(static_cast<int>(Weights::kQ8_0) == INGOT_WEIGHTS_Q8_0);
static_assert(static_cast<int>(Weights::kQ4_K) == INGOT_WEIGHTS_Q4_K);
static_assert(static_cast<int>(Weights::kBF16) == INGOT_WEIGHTS_BF16);
static_assert(static_cast<int>(Weights::kF32) == INGOT_WEIGHTS_F32);
static_assert(static_cast<int>(FinishReason::kCancelled) == INGOT_CANCELLED);

/// A zero-terminated copy that ingot_free takes back.
template <class T>
T* copy_out(const T* values, std::size_t count) {
  T* copy = static_cast<T*>(std::calloc(count + 1, sizeof(T)));
  if (copy == nullptr) throw std::bad_alloc();
  if (count > 0) std::memcpy(copy, values, count * sizeof(T));
  return copy;
}

ingot_result* result_of(Result&& result) { return new CResult(std::move(result)); }

Callback callback_of(ingot_callback callback, void* user) {
  if (callback == nullptr) return {};
  return [=](const Delta& delta) {
    CDelta shown;
    return callback(user, shown.set(Delta(delta)));
  };
}

/// The requests of a batch that could be converted, each with its index among the caller's
/// requests.
struct Batch {
  std::vector<Request> requests;
  std::vector<std::size_t> indices;
};

/// Converts requests. A malformed request ends here, and is left out.
Batch batch_of(std::span<const ingot_request> requests, ingot_batch_end end, void* user) {
  Batch batch;
  batch.requests.reserve(requests.size());
  batch.indices.reserve(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const ingot_status status = call([&] { batch.requests.push_back(from_c(requests[i])); });
    if (status == INGOT_OK) {
      batch.indices.push_back(i);
    } else if (end != nullptr) {
      end(user, i, status, nullptr);
    }
  }
  return batch;
}

/// Makes callbacks that get an index among the caller's requests: see Batch, which must outlive
/// them.
BatchCallbacks batch_callbacks_of(const Batch& batch, ingot_batch_callback callback,
                                  ingot_batch_end end, void* user) {
  BatchCallbacks callbacks;
  if (callback != nullptr) {
    callbacks.delta = [=, &batch](std::size_t index, const Delta& delta) {
      CDelta shown;
      return callback(user, batch.indices[index], shown.set(Delta(delta)));
    };
  }
  if (end != nullptr) {
    callbacks.end = [=, &batch](std::size_t index, const Ending& ending) {
      const std::size_t i = batch.indices[index];
      if (ending.error) return end(user, i, fail(*ending.error), nullptr);
      const CResult result{Result(ending.result)};
      end(user, i, INGOT_OK, &result);
    };
  }
  return callbacks;
}

}  // namespace

extern "C" {

const char* ingot_version(void) { return version(); }

const char* ingot_last_error(void) { return last_error; }

ingot_open_options ingot_default_open_options(void) {
  const OpenOptions o;
  ingot_open_options options{};
  options.isa = "auto";
  options.kv_type = INGOT_KV_AUTO;
  options.sequences = o.sequences;
  options.embedding = o.embedding;
  options.head = o.head;
  options.step_rows = o.step_rows;
  options.waiting_max = o.waiting_max;
  options.deltas_max = o.deltas_max;
  options.prefix_cache = o.prefix_cache;
  options.stall_seconds = o.stall_seconds;
  return options;
}

ingot_request ingot_default_request(void) {
  const Request r;
  ingot_request request{};
  request.prompt.add_special = r.prompt.encode.add_special;
  ingot::each_public_field([&](const auto& at) { request.*at.c = r.sampling.*at.cpp; });
  static const std::vector<std::string> kBreakers = Request{}.sampling.dry_sequence_breakers;
  static const std::vector<const char*> kPointers = pointers_to(kBreakers);
  request.dry_sequence_breakers = kPointers.data();
  request.dry_sequence_breaker_count = kPointers.size();
  request.max_tokens = r.max_tokens;
  request.logprobs = r.logprobs;
  request.prompt_logprobs = r.prompt_logprobs;
  request.speculation_tokens = r.speculation.tokens;
  return request;
}

ingot_hidden_options ingot_default_hidden_options(void) {
  const HiddenOptions o;
  return {.all_rows = o.all_rows,
          .final_norm = o.final_norm,
          .first_row = o.first_row,
          .row_count = o.row_count};
}

ingot_status ingot_open(const ingot_open_options* options, ingot_engine** engine) {
  *engine = nullptr;
  return call([&] { *engine = new ingot_engine{Engine(from_c(*options))}; });
}

void ingot_close(ingot_engine* engine) { delete engine; }

ingot_info ingot_engine_info(const ingot_engine* engine) {
  const ModelInfo& info = engine->engine.info();
  return {.path = info.path.c_str(),
          .architecture = info.architecture.c_str(),
          .isa = info.isa.c_str(),
          .vocab = info.vocab,
          .hidden = info.hidden,
          .layers = info.layers,
          .context = info.context,
          .kv_type = static_cast<ingot_kv_type>(info.kv_type),
          .has_tokenizer = info.has_tokenizer,
          .warnings = info.warnings.size()};
}

const char* ingot_warning(const ingot_engine* engine, size_t i) {
  const auto& warnings = engine->engine.info().warnings;
  return i < warnings.size() ? warnings[i].c_str() : nullptr;
}

ingot_status ingot_encode(const ingot_engine* engine, const char* text, size_t text_bytes,
                          bool add_special, bool parse_special, int32_t** ids, size_t* id_count) {
  *ids = nullptr;
  *id_count = 0;
  return call([&] {
    const std::span<const char> bytes = span_of("text", text, text_bytes);
    const auto list = engine->engine.encode(
        {bytes.data(), bytes.size()}, {.add_special = add_special, .parse_special = parse_special});
    *ids = copy_out(list.data(), list.size());
    *id_count = list.size();
  });
}

ingot_status ingot_decode(const ingot_engine* engine, const int32_t* ids, size_t id_count,
                          char** text, size_t* text_bytes) {
  *text = nullptr;
  *text_bytes = 0;
  return call([&] {
    const std::string all = engine->engine.decode(span_of("ids", ids, id_count));
    *text = copy_out(all.data(), all.size());
    *text_bytes = all.size();
  });
}

ingot_status ingot_generate(ingot_engine* engine, const ingot_request* request,
                            ingot_callback callback, void* user, ingot_result** result) {
  *result = nullptr;
  return call([&] {
    *result = result_of(engine->engine.generate(from_c(*request), callback_of(callback, user)));
  });
}

ingot_status ingot_submit(ingot_engine* engine, const ingot_request* request,
                          ingot_stream** stream) {
  *stream = nullptr;
  return call([&] { *stream = new ingot_stream{engine->engine.submit(from_c(*request))}; });
}

ingot_status ingot_submit_choices(ingot_engine* engine, const ingot_request* request, int32_t n,
                                  ingot_stream** streams) {
  for (int32_t i = 0; i < n; ++i) streams[i] = nullptr;
  const ingot_status status = call([&] {
    std::vector<Stream> made = engine->engine.submit_choices(from_c(*request), n);
    for (std::size_t i = 0; i < made.size(); ++i) {
      streams[i] = new ingot_stream{std::move(made[i])};
    }
  });
  for (int32_t i = 0; status != INGOT_OK && i < n; ++i) {
    delete streams[i];
    streams[i] = nullptr;
  }
  return status;
}

ingot_status ingot_generate_all(ingot_engine* engine, const ingot_request* requests, size_t count,
                                ingot_batch_callback callback, ingot_batch_end end, void* user) {
  return call([&] {
    const Batch batch = batch_of(span_of("requests", requests, count), end, user);
    engine->engine.generate_all(batch.requests, batch_callbacks_of(batch, callback, end, user));
  });
}

ingot_status ingot_open_sequence(ingot_engine* engine, ingot_sequence** sequence) {
  *sequence = nullptr;
  return call([&] { *sequence = new ingot_sequence{engine->engine.open_sequence()}; });
}

int64_t ingot_sequence_rows(const ingot_sequence* sequence) { return sequence->sequence.rows(); }

ingot_status ingot_sequence_truncate(ingot_sequence* sequence, int64_t rows) {
  return call([&] { sequence->sequence.truncate(rows); });
}

void ingot_sequence_free(ingot_sequence* sequence) { delete sequence; }

ingot_status ingot_step(ingot_engine* engine, bool* more) {
  return call([&] {
    const bool left = engine->engine.step();
    if (more != nullptr) *more = left;
  });
}

ingot_status ingot_hidden_states(ingot_engine* engine, const ingot_prompt* prompt,
                                 const ingot_hidden_options* options, float** values, size_t* rows,
                                 size_t* cols) {
  *values = nullptr;
  *rows = *cols = 0;
  return call([&] {
    const HiddenStates states = engine->engine.hidden_states(from_c(*prompt), from_c(*options));
    *values = copy_out(states.values.data(), states.values.size());
    *rows = static_cast<size_t>(states.rows);
    *cols = static_cast<size_t>(states.cols);
  });
}

ingot_status ingot_save_session(ingot_engine* engine, const char* path,
                                const ingot_request* request, const ingot_result* result,
                                int64_t* tokens) {
  return call([&] {
    const std::int64_t kept =
        engine->engine.save_session(text_of("path", path), from_c(*request), from_c(*result));
    if (tokens != nullptr) *tokens = kept;
  });
}

ingot_status ingot_restore_session(ingot_engine* engine, const char* path, uint64_t domain,
                                   ingot_session** session) {
  *session = nullptr;
  return call([&] {
    *session = new CSession(engine->engine.restore_session(text_of("path", path), domain));
  });
}

ingot_status ingot_stream_next(ingot_stream* stream, const ingot_delta** delta) {
  *delta = nullptr;
  return call([&] {
    auto next = stream->stream.next();
    *delta = next ? stream->delta.set(std::move(*next)) : nullptr;
  });
}

ingot_status ingot_stream_try_next(ingot_stream* stream, const ingot_delta** delta) {
  *delta = nullptr;
  return call([&] {
    auto next = stream->stream.try_next();
    *delta = next ? stream->delta.set(std::move(*next)) : nullptr;
  });
}

bool ingot_stream_finished(const ingot_stream* stream) { return stream->stream.finished(); }

void ingot_stream_cancel(ingot_stream* stream) { stream->stream.cancel(); }

ingot_status ingot_stream_result(ingot_stream* stream, ingot_result** result) {
  *result = nullptr;
  return call([&] { *result = result_of(stream->stream.result()); });
}

void ingot_stream_free(ingot_stream* stream) { delete stream; }

void ingot_result_free(ingot_result* result) { delete static_cast<CResult*>(result); }

void ingot_session_free(ingot_session* session) { delete static_cast<CSession*>(session); }

void ingot_free(void* memory) { std::free(memory); }

}  // extern "C"
