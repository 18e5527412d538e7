// The public Engine: open, submit, generate, sessions.
#include <algorithm>

#include "api/engine_impl.h"
#include "backend/backends.h"
#include "base/fp_env.h"
#include "base/text.h"
#include "runtime/draft/draft_model.h"
#include "runtime/session/engine_session.h"
#include "runtime/thread_choice.h"
#include "text/tokenizer/detokenizer.h"

namespace ingot::api {

namespace {

int thread_count(const OpenOptions& options) {
  instance_options(options);  // refuses a bad count before threads are started
  if (options.threads > 0) return options.threads;
  return std::max(1, static_cast<int>(choose_cpus(*host_kernels().back()).size()));
}

/// Loads the weights; `progress` may end it.
void start(Instance& instance, const OpenOptions& options, const StartOptions& start) {
  instance.start(start, [&](std::uint64_t done, std::uint64_t total) {
    if (!options.progress || options.progress(done, total)) return;
    throw ingot::Error(ingot::ErrorCode::kInvalid, "loading was cancelled by its caller");
  });
}

/// Opens the draft model; null if the options name none. `started`: how the target was started.
std::shared_ptr<Drafter> open_drafter(ThreadPool& pool, const OpenOptions& options,
                                      Instance& target, const StartOptions& started) {
  const bool is_off = options.draft.empty() || options.draft == "lookup" || !options.head;
  if (is_off) return nullptr;
  InstanceOptions draft = instance_options(options);
  draft.path = options.draft;
  return open_draft_model(
      pool, draft, target, started,
      [&](Instance& instance, const StartOptions& how) { start(instance, options, how); }, {});
}

}  // namespace

Engine::Impl::Impl(const OpenOptions& options)
    : threadless(options.threadless),
      pool(thread_count(options)),
      instance(pool, instance_options(options)) {
  if (options.sessions) weights = instance.fingerprint();
  StartOptions chosen = start_options(options, instance);
  chosen.pool_sequences = instance.fitting_pool(chosen);
  start(instance, options, chosen);
  info = model_info(instance, chosen.context);
  EngineOptions how = engine_options(options);
  how.speculation.model = open_drafter(pool, options, instance, chosen);
  engine = instance.make_engine(how);
  if (threadless) return;
  const CanonicalFp canonical;
  engine->prepare();
  engine->start();
}

std::vector<std::unique_ptr<Stream::Impl>> Engine::Impl::submit(ingot::Request&& request,
                                                                std::int32_t n,
                                                                LiveSequence* sequence) {
  const auto live = sequence != nullptr ? sequence->impl_ : nullptr;
  const std::int64_t rows = live ? live->rows.rows() : 0;
  std::vector<std::unique_ptr<Stream::Impl>> made;
  if (live) live->require_of(shared_from_this());
  try {
    if (live) live->await(*this);
    if (live) live->rows.extend(request);
    for (ingot::Stream& stream : engine->submit_choices(std::move(request), n)) {
      made.push_back(std::make_unique<Stream::Impl>(std::move(stream), live));
      if (threadless) made.back()->threadless = shared_from_this();
    }
    if (made.empty()) {
      engine->require_alive();
      throw Error(ErrorCode::kBusy, "too many requests wait: try again later");
    }
  } catch (...) {
    if (live) live->rows.truncate(rows);
    throw;
  }
  if (live) live->is_busy = true;
  return made;
}

std::vector<std::unique_ptr<Stream::Impl>> Engine::Impl::open(const Request& request,
                                                              std::int32_t n, Notify notify) {
  return guarded([&] {
    ingot::Request checked = to_request(request, instance);
    checked.notify = std::move(notify);
    std::vector<std::int32_t> ids = checked.prompt;
    std::erase(ids, kGivenRow);
    auto made = submit(std::move(checked), n, request.prompt.sequence);
    for (const auto& stream : made) stream->result.prompt_ids = ids;
    return made;
  });
}

bool Engine::Impl::step() {
  const CanonicalFp canonical;
  return engine->step();
}

bool Engine::Impl::advance() {
  const CanonicalFp canonical;
  return engine->advance();
}

const ModelFingerprint& Engine::Impl::require_weights() const {
  if (weights) return *weights;
  throw ingot::Error(ingot::ErrorCode::kInvalid, "sessions: this engine was opened without them");
}

Engine::Engine(const OpenOptions& options)
    : impl_(guarded([&] { return std::make_shared<Impl>(options); })) {}
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;
Engine::~Engine() = default;

const ModelInfo& Engine::info() const { return impl_->info; }

std::vector<std::int32_t> Engine::encode(std::string_view text,
                                         const EncodeOptions& options) const {
  return guarded(
      [&] { return require_tokenizer(impl_->instance).encode(text, encode_options(options)); });
}

std::string Engine::decode(std::span<const std::int32_t> ids) const {
  return guarded([&] { return detokenize(require_tokenizer(impl_->instance), ids); });
}

Stream Engine::submit(const Request& request) {
  return std::move(submit_choices(request, 1).front());
}

std::vector<Stream> Engine::submit_choices(const Request& request, std::int32_t n) {
  std::vector<Stream> streams;
  for (auto& made : impl_->open(request, n)) streams.push_back(Stream(std::move(made)));
  return streams;
}

Result Engine::generate(const Request& request, const Callback& callback) {
  Stream stream = submit(request);
  while (const std::optional<Delta> delta = stream.next()) {
    if (callback && !callback(*delta)) return std::move(stream.impl_->result);
  }
  return stream.result();
}

HiddenStates Engine::hidden_states(const Prompt& prompt, const HiddenOptions& options) {
  return guarded([&] {
    const auto streams =
        impl_->submit(to_request(prompt, options, impl_->instance), 1, prompt.sequence);
    Stream::Impl& stream = *streams.front();
    while (stream.taken(stream.next())) {
    }
    const Outcome& outcome = stream.stream.outcome();
    if (outcome.error) throw to_error(*outcome.error);
    const std::int64_t cols = impl_->info.hidden;
    return HiddenStates{
        .rows = std::ssize(outcome.hidden) / cols, .cols = cols, .values = outcome.hidden};
  });
}

std::int64_t Engine::save_session(const std::string& path, const Request& request,
                                  const Result& result) {
  return guarded([&] {
    const ModelFingerprint& weights = impl_->require_weights();
    ingot::Session session = to_session(request, result, impl_->instance);
    check_session(session, impl_->engine->request_limits());
    session.model.weights = weights;
    return ingot::save_session(*impl_->engine, path, std::move(session),
                               {.domain = domain_of(request.domain)});
  });
}

Session Engine::restore_session(const std::string& path, std::uint64_t domain) {
  return guarded([&] {
    const ModelFingerprint& weights = impl_->require_weights();
    const SessionFile file(path);
    file.require_session(impl_->engine->request_limits());
    Session session{.request = to_request(file.session())};
    session.request.domain = domain;
    session.restored_tokens =
        ingot::restore_session(*impl_->engine, file, weights, {.domain = domain_of(domain)});
    return session;
  });
}

bool Engine::step() {
  return guarded([&] {
    if (!impl_->threadless) throw Error(ErrorCode::kInvalid, "step: this engine has a thread");
    return impl_->step();
  });
}

const char* version() { return INGOT_VERSION; }

}  // namespace ingot::api
