// Memory that runs out at whichever allocation of a step, or of a stream's queue, ends requests at
// most, never the process, and loses no piece.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <random>
#include <thread>

#include "engine/constraint_test_util.h"
#include "engine/engine_test_util.h"
#include "quant/formats.h"
#include "runtime/delta_queue.h"
#include "runtime/sampling/repeats.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer/tokenizer_test_util.h"

namespace {

/// What this thread may still allocate before every further allocation fails; below 0: no bound.
thread_local std::int64_t allocations_left = -1;
/// Whether only one allocation fails.
thread_local bool fails_once = false;

}  // namespace

// Not inlined: next to a caller's `new`, `free` looks like the wrong counterpart to GCC.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (allocations_left == 0) {
    if (fails_once) allocations_left = -1;
    throw std::bad_alloc();
  }
  if (allocations_left > 0) --allocations_left;
  if (void* memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace ingot::testing_support {
namespace {

Request some_request(std::int32_t first) {
  Request request{.max_tokens = 5, .prompt_logprobs = 2, .digest = true};
  for (std::int32_t i = 0; i < 20; ++i) request.prompt.push_back((first + 5 * i) % 36);
  request.sampling.temperature = 1;
  request.sampling.logprobs = 2;
  request.sampling.repetition_penalty = 1.5f;
  return request;
}

/// Steps until all requests have ended, with `allocations` allocations; returns whether these were
/// enough.
bool run_with(Engine& engine, std::int64_t allocations) {
  allocations_left = allocations;
  while (engine.step()) {
  }
  const bool enough = allocations_left > 0;
  allocations_left = -1;
  return enough;
}

TEST(EngineMemory, RunningOutAnywhereEndsTheRequestsAndTheEngineGoesOn) {
  const auto checkpoint = make_checkpoint(two_layers(random_models(F32::kFormat)[2]), 1);
  RunnerOptions options = EngineRunner::defaults();
  options.adapters = 2;
  EngineRunner runner(*checkpoint, options);
  const std::string plain = run_alone(runner, some_request(1));
  const auto adapted = [&](std::int32_t first, std::size_t list) {
    Request request = some_request(first);
    request.adapters = runner.model().adapters(list);
    return request;
  };
  const std::string expected = run_alone(runner, adapted(1, 3));
  EXPECT_NE(expected, plain);
  std::int64_t allocations = 0;
  for (bool enough = false; !enough; ++allocations) {
    SCOPED_TRACE(allocations);
    Stream one = *runner.engine().submit(adapted(1, 3));
    Stream two = *runner.engine().submit(adapted(2, 1));
    enough = run_with(runner.engine(), allocations);
    EXPECT_EQ(runner.blocks_in_use(), 0);
    for (Stream* stream : {&one, &two}) {
      Collected got;
      while (const auto delta = stream->try_next()) got.add(*delta);
      ASSERT_TRUE(stream->finished());
      const Outcome& outcome = stream->outcome();
      if (outcome.finish == FinishReason::kError) {
        EXPECT_EQ(outcome.error->code(), ErrorCode::kDoesNotFit);
      } else if (stream == &one) {
        EXPECT_EQ(describe(got, outcome), expected);
      }
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(allocations, 20) << "too few to test anything";
}

/// Steps until all requests have ended; returns the number of allocations.
std::int64_t allocations_of(Engine& engine) {
  constexpr std::int64_t kMany = 1 << 30;
  allocations_left = kMany;
  while (engine.step()) continue;
  const std::int64_t used = kMany - allocations_left;
  allocations_left = -1;
  return used;
}

/// The allocations of the engine's thread for a request of some tokens.
std::int64_t allocations_of(EngineRunner& runner, std::shared_ptr<const AdapterList> adapters,
                            std::int32_t tokens) {
  Request request{.prompt = {1, 2, 3}, .max_tokens = tokens, .ignore_eos = true};
  request.adapters = std::move(adapters);
  const Stream stream = *runner.engine().submit(std::move(request));
  return allocations_of(runner.engine());
}

TEST(EngineMemory, AdaptersAllocateNothingInSteps) {
  const auto checkpoint = make_checkpoint(two_layers(random_models(F32::kFormat)[2]), 1);
  RunnerOptions options = EngineRunner::defaults();
  options.adapters = 2;
  EngineRunner runner(*checkpoint, options, {.prefix_cache = false});
  const auto of_more_steps = [&](std::size_t list) {
    const auto adapters = runner.model().adapters(list);
    allocations_of(runner, adapters, 60);  // buffers grow to their sizes
    return allocations_of(runner, adapters, 60) - allocations_of(runner, adapters, 20);
  };
  const std::int64_t plain = of_more_steps(0);
  EXPECT_EQ(of_more_steps(1), plain);
  EXPECT_EQ(of_more_steps(3), plain) << "with two adapters";
}

/// Returns the number of allocations of a run of one request with `drafts` rows for drafts, once an
/// equal request has run.
std::int64_t allocations_with_drafts(std::int32_t drafts) {
  const auto checkpoint = make_checkpoint(two_layers(random_models(F32::kFormat)[2]), 1);
  RunnerOptions options = EngineRunner::defaults();
  options.draft_rows = drafts;
  EngineRunner runner(*checkpoint, options);
  Request request{.prompt = {1, 2, 3, 1, 2, 3, 1, 2}, .max_tokens = 60};
  static_cast<void>(run_alone(runner, request));
  Stream stream = *runner.engine().submit(std::move(request));
  runner.engine().step();
  const std::int64_t used = allocations_of(runner.engine());
  while (stream.try_next()) continue;
  EXPECT_EQ(stream.outcome().drafts > 0, drafts > 0);
  return used;
}

/// Lookups allocate when a request begins, and a bounded number of times when it ends.
TEST(EngineMemory, DraftsAllocateNothingInAStep) {
  const std::int64_t more = allocations_with_drafts(8) - allocations_with_drafts(0);
  EXPECT_LE(more, 10) << "a step with drafts allocates";
}

/// While it lives, only one allocation fails.
struct FailsOnce {
  FailsOnce() { fails_once = true; }
  ~FailsOnce() { fails_once = false; }
};

TEST(EngineMemory, RunningOutInAMaskEndsItsRequestAlone) {
  const auto checkpoint = make_checkpoint(two_layers(random_models(F32::kFormat)[0]), 5);
  EngineRunner runner(*checkpoint);
  Request plain{.prompt = {1, 2, 3}, .max_tokens = 8};
  plain.sampling.temperature = 1;
  Request constrained = plain;
  constrain(constrained);
  int ended_alone = 0;
  std::int64_t allocations = 0;
  const FailsOnce guard;
  for (bool enough = false; !enough; ++allocations) {
    SCOPED_TRACE(allocations);
    Stream one = *runner.engine().submit(Request(plain));
    Stream two = *runner.engine().submit(Request(constrained));
    enough = run_with(runner.engine(), allocations);
    EXPECT_EQ(runner.blocks_in_use(), 0);
    while (one.try_next()) continue;
    Collected got;
    while (const auto delta = two.try_next()) got.add(*delta);
    ASSERT_TRUE(one.finished() && two.finished());
    EXPECT_NE(fit_of(word_text(got.ids)), WordsFit::kNo);
    if (two.outcome().finish != FinishReason::kError) continue;
    EXPECT_EQ(two.outcome().error->code(), ErrorCode::kDoesNotFit);
    ended_alone += one.outcome().finish == FinishReason::kLength ? 1 : 0;
  }
  EXPECT_GT(ended_alone, 10) << "too few to test anything";
}

TEST(EngineMemory, RunningOutWhileARequestIsHandedInLeavesNothingBehind) {
  const auto checkpoint = make_checkpoint(two_layers(random_models(F32::kFormat)[2]), 1);
  EngineRunner runner(*checkpoint);
  Engine& engine = runner.engine();
  int failures = 0;
  for (std::int64_t allocations = 0; allocations < 1000; ++allocations) {
    std::optional<Stream> stream;
    Request request = some_request(1);
    allocations_left = allocations % 20;
    try {
      stream = engine.submit(std::move(request));
    } catch (const std::bad_alloc&) {
      ++failures;
    }
    allocations_left = -1;
    // Not stepped: the inbox grows, and so asks for memory now and then.
    EXPECT_EQ(engine.under_way(), static_cast<std::size_t>(allocations + 1 - failures));
    if (HasFailure()) return;
  }
  EXPECT_GT(failures, 100) << "too few to test anything";
  engine.begin_drain(0);
  while (engine.step()) continue;
  EXPECT_EQ(engine.under_way(), 0u);
  EXPECT_TRUE(!engine.wait_drained()) << "the drain ends, and by force";
}

/// A step adds to a copy of the prompt's history, and must not allocate.
TEST(RepeatHistoryMemory, AReservedCopyGrowsWithoutMoreMemory) {
  std::vector<std::string> warnings;
  const auto tokenizer = make_tokenizer(ingot::testing::byte_level_data("gpt-2", {}), warnings);
  const std::vector<std::string> breakers{":"};
  RepeatHistory prompt(breakers, tokenizer.get());
  for (int i = 0; i < 100; ++i) prompt.add('a');
  RepeatHistory copy = prompt;
  copy.reserve(200);
  bool had_enough = true;
  allocations_left = 0;
  try {
    for (int i = 0; i < 100; ++i) copy.add('b');
  } catch (const std::bad_alloc&) {
    had_enough = false;
  }
  allocations_left = -1;
  EXPECT_TRUE(had_enough);
}

/// What `act` returns, tried until it has memory enough: how much there is differs from try to try.
/// Counts in `failures` how often there was too little.
template <class Act>
bool until_it_fits(std::mt19937& random, int& failures, const Act& act) {
  for (;;) {
    allocations_left = static_cast<std::int64_t>(random() % 3);
    try {
      const bool done = act();
      allocations_left = -1;
      return done;
    } catch (const std::bad_alloc&) {
      allocations_left = -1;
      ++failures;
    }
  }
}

/// Number i of pieces that ask for more and more memory.
Delta growing_piece(int i) {
  const std::size_t size = 8 * static_cast<std::size_t>(i);
  Delta delta{
      .ids = std::vector<std::int32_t>(size, i), .text = std::string(size, 'x'), .logprobs = {}};
  delta.logprobs.resize(size, {.token = {.id = i, .logprob = -1}, .top = {{.id = i}}});
  return delta;
}

TEST(DeltaQueueMemory, RunningOutOnEitherSideLosesNoPieceAndBringsNoneTwice) {
  constexpr int kPieces = 40;
  int failed_pushes = 0, failed_pops = 0;
  for (unsigned round = 0; round < 50; ++round) {
    DeltaQueue queue(3);
    std::thread pusher([&] {
      std::mt19937 random(round);
      for (int i = 0; i < kPieces; ++i) {
        Delta delta = growing_piece(i);
        while (!until_it_fits(random, failed_pushes,
                              [&] { return queue.try_push(std::move(delta)); })) {
          std::this_thread::yield();
        }
      }
      queue.close();
    });
    std::mt19937 random(1000 + round);
    Delta got;
    for (int i = 0; i < kPieces; ++i) {
      got = Delta();
      EXPECT_TRUE(until_it_fits(random, failed_pops, [&] { return queue.pop(got); }));
      const Delta want = growing_piece(i);
      EXPECT_EQ(got.ids, want.ids);
      EXPECT_EQ(got.text, want.text);
      EXPECT_EQ(got.logprobs.size(), want.logprobs.size());
      for (const TokenLogprobs& logprobs : got.logprobs) {
        EXPECT_EQ(logprobs.token.id, i);
        EXPECT_EQ(logprobs.top.size(), 1u);
      }
    }
    EXPECT_FALSE(queue.pop(got));
    pusher.join();
  }
  EXPECT_GT(failed_pushes, 100) << "too few to test anything";
  EXPECT_GT(failed_pops, 100) << "too few to test anything";
}

#if !defined(INGOT_SANITIZED)
TEST(EngineMemoryDeathTest, AThreadThatTheSystemRefusesIsAnError) {
  const auto start = [] {
    const auto checkpoint = make_checkpoint(two_layers(random_models(F32::kFormat)[2]), 1);
    EngineRunner runner(*checkpoint);
    // Less than is mapped already: there is no room for a thread's stack.
    const rlimit limit{.rlim_cur = rlim_t{1} << 20, .rlim_max = rlim_t{1} << 20};
    ::setrlimit(RLIMIT_AS, &limit);
    try {
      runner.engine().start();
    } catch (const Error& error) {
      std::fprintf(stderr, "%s\n", error.message().c_str());
      std::_Exit(error.code() == ErrorCode::kDoesNotFit ? 7 : 8);
    }
    std::_Exit(9);
  };
  EXPECT_EXIT(start(), ::testing::ExitedWithCode(7), "cannot start the engine's thread: ");
}
#endif

}  // namespace
}  // namespace ingot::testing_support
