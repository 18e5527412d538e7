// Engine: the loop drain -> plan -> run -> sample -> deliver -> commit.
#include "runtime/engine.h"

#include <algorithm>
#include <new>
#include <system_error>

#include "base/errno_text.h"
#include "base/error.h"
#include "base/signal_stack.h"
#include "base/text.h"

namespace ingot {

namespace {

RequestLimits request_limits(const EngineParts& parts) {
  const Spec& spec = parts.executor.model().spec;
  INGOT_CHECK(parts.executor.model().head() != nullptr, "an engine without a head");
  return {.vocab = spec.vocab,
          .ids = std::min(parts.ids, spec.vocab),
          .hidden = spec.hidden,
          .context = parts.executor.limits().context,
          .prompt_logprobs = parts.executor.limits().score_top,
          .text = parts.tokenizer != nullptr,
          .hidden_all = parts.executor.limits().out_rows >= parts.executor.limits().rows};
}

/// Allocates nothing: a string holds so short a text within itself.
Error out_of_memory() { return {ErrorCode::kDoesNotFit, "out of memory"}; }

/// A copy for an outcome, or what kept it from being made.
std::optional<Error> copy_of(const Error* error) {
  if (error == nullptr) return std::nullopt;
  try {
    return *error;
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

}  // namespace

Engine::Engine(const EngineParts& parts, const EngineOptions& options)
    : executor_(parts.executor),
      pool_(parts.pool),
      tokenizer_(parts.tokenizer),
      end_ids_(parts.end_ids),
      options_(options),
      request_limits_(request_limits(parts)),
      inbox_(options.inbox_max),
      bell_(std::make_shared<Doorbell>()),
      scheduler_(executor_.cache(), {.rows = executor_.limits().rows,
                                     .sequences = executor_.limits().sequences,
                                     .kept = options.conversations_max}),
      sampler_(pool_, parts.kernels, request_limits_.vocab, request_limits_.ids,
               executor_.limits().sequences) {
  INGOT_CHECK(options.deltas_max > 0, "streams without room");
  const auto sequences = static_cast<std::size_t>(executor_.limits().sequences);
  drawing_.reserve(sequences);
  rows_.reserve(sequences);
  drawn_.resize(sequences);
  tokens_.reserve(sequences);
  std::erase_if(end_ids_, [&](std::int32_t id) { return id < 0 || id >= request_limits_.ids; });
}

std::optional<Stream> Engine::submit(Request&& request) {
  check_request(request, request_limits_);
  const std::int64_t rows = std::ssize(request.prompt) + request.embedding_rows;
  const std::int64_t most = rows + std::min(request.max_tokens, request_limits_.context - rows);
  if (!scheduler_.fits_alone(most)) {
    throw Error(ErrorCode::kInvalid, cat("max_tokens: ", rows, " tokens and ", most - rows,
                                         " more are too many for the KV pool"));
  }
  auto channel = std::make_shared<Channel>(options_.deltas_max, bell_);
  Submission submission{.id = ++last_id_, .request = std::move(request), .channel = channel};
  const std::uint64_t id = submission.id;
  if (!inbox_.try_push(std::move(submission))) {
    // What try_push refuses stays as it was.
    request = std::move(submission.request);  // NOLINT(bugprone-use-after-move)
    return std::nullopt;
  }
  bell_->ring();
  return Stream(id, std::move(channel));
}

void Engine::start() {
  INGOT_CHECK(!thread_.joinable(), "an engine has one thread");
  try {
    thread_ = std::thread([this] { run_thread(); });
  } catch (const std::system_error& refused) {
    throw Error(ErrorCode::kDoesNotFit,
                cat("cannot start the engine's thread: ", errno_text(refused.code().value())));
  }
}

void Engine::run_thread() {
  const SignalStack stack;
  while (!stopping_.load()) {
    if (!turn()) bell_->wait();
  }
}

bool Engine::advance() {
  INGOT_CHECK(!thread_.joinable(), "this engine has a thread");
  return turn();
}

bool Engine::step() {
  advance();
  return !active_.empty() || inbox_.size() > 0;
}

void Engine::stop() {
  stopping_.store(true);
  inbox_.close();
  bell_->ring();
  if (thread_.joinable()) thread_.join();
  while (auto submission = inbox_.try_pop()) submission->channel->deltas.close();
  end_all(FinishReason::kCancelled, nullptr);
}

/// Whether anything was computed. What fails for all (no memory) ends the requests that run, and
/// the engine goes on with the next ones. Ending them allocates nothing.
bool Engine::turn() {
  try {
    drain();
    const std::span<const StepPart> parts = scheduler_.plan();
    if (parts.empty()) return false;
    run(parts);
    return true;
  } catch (const Error& error) {
    end_all(FinishReason::kError, &error);
  } catch (const std::bad_alloc&) {
    const Error error = out_of_memory();
    end_all(FinishReason::kError, &error);
  }
  return true;
}

/// Requests come in while there is room for them to run, and a bounded number of paused ones does
/// not count. The others wait in the inbox, which refuses more than it has room for.
///
/// Cancelled ones go first: the room that one leaves may be what the inbox waits for, and the
/// doorbell rang for it once.
void Engine::drain() {
  for (auto& [id, continuation] : active_) {
    if (continuation->is_cancelled()) continuation->finish(FinishReason::kCancelled);
  }
  drop_ended();
  const auto is_behind = [](const auto& entry) { return entry.second->is_behind(); };
  auto behind = std::min<std::size_t>(
      options_.inbox_max,
      static_cast<std::size_t>(std::count_if(active_.begin(), active_.end(), is_behind)));
  const auto sequences = static_cast<std::size_t>(executor_.limits().sequences);
  while (active_.size() < sequences + behind) {
    auto submission = inbox_.try_pop();
    if (!submission) break;
    const auto channel = submission->channel;
    const std::uint64_t id = submission->id;
    try {
      admit(std::move(*submission));
    } catch (const Error& error) {
      refuse(id, *channel, error);
    } catch (const std::bad_alloc&) {
      refuse(id, *channel, out_of_memory());
    }
  }
  for (auto& [id, continuation] : active_) {
    continuation->sequence().paused = continuation->is_behind();
  }
}

void Engine::admit(Submission&& submission) {
  auto& ends = submission.request.sampling.end_ids;
  if (!submission.request.ignore_eos) ends.insert(ends.end(), end_ids_.begin(), end_ids_.end());
  const std::uint64_t id = submission.id;
  auto continuation = std::make_unique<Continuation>(std::move(submission), executor_.cache(),
                                                     request_limits_, tokenizer_);
  if (continuation->is_done()) return continuation->finish(FinishReason::kLength);
  Sequence& sequence = continuation->sequence();
  active_.emplace(id, std::move(continuation));
  scheduler_.add(sequence);
}

/// A request that could not be taken in.
void Engine::refuse(std::uint64_t id, Channel& channel, const Error& error) {
  if (const auto at = active_.find(id); at != active_.end()) {
    scheduler_.remove(at->second->sequence());
    active_.erase(at);
  }
  channel.outcome.finish = FinishReason::kError;
  channel.outcome.error = copy_of(&error);
  channel.deltas.close();
}

void Engine::run(std::span<const StepPart> parts) {
  const auto start = Clock::now();
  for (const StepPart& part : parts) of(part).started(start);
  executor_.run(parts);
  sample(parts);
  deliver(parts);
  scheduler_.commit(tokens_);
  drop_ended();
}

void Engine::sample(std::span<const StepPart> parts) {
  drawing_.clear();
  rows_.clear();
  for (const StepPart& part : parts) {
    if (part.outputs == 0) continue;
    Continuation& continuation = of(part);
    // Here, where running out of memory ends the requests; in the pool's loop it would end all.
    drawn_[rows_.size()].top.reserve(continuation.best_tokens());
    rows_.push_back(continuation.row(executor_.logits(std::ssize(drawing_))));
    drawing_.push_back(&continuation);
  }
  if (rows_.empty()) return;
  const auto lease = pool_.acquire();
  pool_.parallel_for(std::ssize(rows_), [&](std::int64_t i, int) {
    const auto row = static_cast<std::size_t>(i);
    drawing_[row]->take_logits(rows_[row].logits);
  });
  sampler_.sample(rows_, std::span(drawn_).first(rows_.size()));
}

void Engine::deliver(std::span<const StepPart> parts) {
  std::int64_t score = 0;
  for (const StepPart& part : parts) {
    for (std::int32_t i = 0; i < part.scores; ++i) of(part).take_score(executor_.score(score++));
  }
  std::int64_t hidden = 0;
  for (const bool final_norm : {true, false}) {
    for (const StepPart& part : parts) {
      if (part.sequence->final_norm != final_norm) continue;
      for (std::int32_t i = 0; i < part.hidden; ++i) {
        of(part).take_hidden(executor_.hidden(hidden++));
      }
    }
  }
  tokens_.clear();
  const auto now = Clock::now();
  for (std::size_t i = 0; i < drawing_.size(); ++i) {
    tokens_.push_back(drawing_[i]->take(std::move(drawn_[i]), now));
  }
}

void Engine::drop_ended() {
  const bool was_busy = !active_.empty();
  for (auto at = active_.begin(); at != active_.end();) {
    Continuation& continuation = *at->second;
    if (!continuation.ended() && continuation.is_done()) {
      continuation.finish(FinishReason::kLength);
    }
    if (!continuation.ended()) {
      ++at;
      continue;
    }
    if (continuation.failed()) {
      scheduler_.remove(continuation.sequence());
    } else {
      scheduler_.retire(continuation.sequence());
    }
    at = active_.erase(at);
  }
  if (was_busy && active_.empty()) check_idle();
}

void Engine::end_all(FinishReason reason, const Error* error) {
  for (auto& [id, continuation] : active_) {
    if (!continuation->ended()) continuation->finish(reason, copy_of(error));
  }
  drop_ended();
}

/// With nothing under way every block is free or kept, or one has been lost.
void Engine::check_idle() {
  for (std::int32_t g = 0; g < executor_.cache().groups(); ++g) {
    const BlockPool& pool = executor_.cache().pool(g);
    const std::int64_t used = pool.total() - pool.free();
    INGOT_CHECK(used == scheduler_.kept(g), used - scheduler_.kept(g), " blocks of group ", g,
                " are in use by nobody");
    pool.check();
  }
}

}  // namespace ingot
