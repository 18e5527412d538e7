// Tests of sessions: a request continued from a file gives the bits of one that never stopped.
#include <sys/stat.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/error.h"
#include "base/temp_folder_test_util.h"
#include "base/text.h"
#include "base/utf8.h"
#include "engine/engine_test_util.h"
#include "quant/formats.h"
#include "runtime/session/engine_session.h"
#include "text/tokenizer/tokenizer_test_util.h"

namespace ingot::testing_support {
namespace {

constexpr KvType kTypes[] = {KvType::kF32, KvType::kF16, KvType::kBF16, KvType::kInt8};

struct Ran {
  Collected got;
  Outcome outcome;
};

Ran run(EngineRunner& runner, Request request) {
  Stream stream = *runner.engine().submit(std::move(request));
  while (runner.engine().step()) continue;
  Ran ran;
  while (const auto delta = stream.try_next()) ran.got.add(*delta);
  ran.outcome = stream.outcome();
  return ran;
}

RunnerOptions options(KvType type = KvType::kF16) {
  RunnerOptions options = EngineRunner::defaults();
  options.kv_type = type;
  return options;
}

ModelFingerprint fingerprint(const Checkpoint& checkpoint, EngineRunner& runner) {
  return model_fingerprint(checkpoint, runner.model().spec(), std::nullopt, runner.model().pool());
}

/// The result of `request` when it stops after `first` tokens and continues from a file in another
/// engine, which copies the blocks one by one.
class Interruption {
 public:
  Interruption(Checkpoint& checkpoint, const RunnerOptions& options,
               const Tokenizer* tokenizer = nullptr)
      : checkpoint_(checkpoint), options_(options), tokenizer_(tokenizer) {}

  Collected run(const Request& request, std::int64_t first) {
    Request begin = request;
    begin.max_tokens = first;
    Collected all = save(begin);
    Collected rest = go_on(request, first);
    all.text += rest.text;
    all.ids.insert(all.ids.end(), rest.ids.begin(), rest.ids.end());
    all.logprobs.insert(all.logprobs.end(), rest.logprobs.begin(), rest.logprobs.end());
    return all;
  }
  std::int64_t saved() const { return saved_; }
  std::int64_t restored() const { return restored_; }
  const Outcome& outcome() const { return outcome_; }

 private:
  Collected save(const Request& request) {
    EngineRunner runner(checkpoint_, options_, {.session_bytes = 1}, tokenizer_);
    Ran ran = testing_support::run(runner, request);
    Session session = session_of(request, ran.got.ids);
    session.model.weights = fingerprint(checkpoint_, runner);
    saved_ = save_session(runner.engine(), path_, std::move(session));
    return ran.got;
  }
  Collected go_on(const Request& whole, std::int64_t first) {
    EngineRunner runner(checkpoint_, options_, {.session_bytes = 1}, tokenizer_);
    const SessionFile file(path_);
    restored_ = restore_session(runner.engine(), file, fingerprint(checkpoint_, runner));
    EXPECT_EQ(runner.blocks_in_use(), 0);
    Request request = request_of(file.session());
    request.max_tokens = whole.max_tokens - first;
    request.sampling.logprobs = whole.sampling.logprobs;
    Ran ran = testing_support::run(runner, std::move(request));
    outcome_ = ran.outcome;
    return ran.got;
  }

  Checkpoint& checkpoint_;
  RunnerOptions options_;
  const Tokenizer* tokenizer_;
  TempFolder folder_;
  std::string path_ = folder_.path("a.session");
  std::int64_t saved_ = 0;
  std::int64_t restored_ = 0;
  Outcome outcome_;
};

/// Tokens and log-probabilities: what has to be equal.
std::string bits(const Collected& got) {
  std::string all = got.text;
  for (const std::int32_t id : got.ids) all += cat(" ", id);
  return all + describe(got.logprobs);
}

TEST(Session, GoesOnAsIfItHadNotStopped) {
  std::mt19937_64 rng(7);
  std::uint64_t seed = 900;
  std::int64_t taken = 0;
  const Format formats[] = {F32::kFormat, Q8_0::kFormat, Q4_K::kFormat};
  for (const RandomModel& model : random_models_in_turn(formats)) {
    const KvType type = kTypes[++seed % 4];
    SCOPED_TRACE(cat(model.name, " KV ", to_string(type), " seed ", seed));
    const auto checkpoint = make_checkpoint(two_layers(model), seed);
    Request request = random_request(rng, 40, 1);
    request.prompt_logprobs = -1;
    request.digest = false;
    request.max_tokens = 40;
    request.sampling.end_ids.clear();
    request.sampling.mirostat = 0;  // its state is not stored
    EngineRunner whole(*checkpoint, options(type));
    const std::string want = bits(run(whole, request).got);
    Interruption interruption(*checkpoint, options(type));
    const auto first = static_cast<std::int64_t>(1 + rng() % 39);
    EXPECT_EQ(bits(interruption.run(request, first)), want) << "after " << first;
    const std::int64_t tokens = std::ssize(request.prompt) + first;
    EXPECT_EQ(interruption.saved(), (tokens - 1) / 16 * 16) << "all that was computed";
    EXPECT_EQ(interruption.restored(), interruption.saved());
    EXPECT_EQ(interruption.outcome().prompt_tokens, tokens);
    EXPECT_EQ(interruption.outcome().cached_tokens, interruption.restored());
    taken += interruption.restored();
  }
  EXPECT_GT(taken, 300) << "hardly anything was in the files";
}

class SessionTest : public ::testing::Test {
 protected:
  static Request request(std::int32_t prompt, std::int64_t tokens) {
    Request request{.prompt = {}, .max_tokens = tokens};
    for (std::int32_t i = 0; i < prompt; ++i) request.prompt.push_back((3 + 5 * i) % 36);
    request.sampling.temperature = 1;
    request.sampling.seed = 12;
    return request;
  }
  /// Computes a request and writes its session.
  Session save(EngineRunner& runner, const Request& request,
               const std::array<std::uint64_t, 2>& domain = {}) {
    Request asked = request;
    asked.domain = domain;
    Session session = session_of(request, run(runner, std::move(asked)).got.ids);
    session.model.weights = weights_;
    saved_ = save_session(runner.engine(), path_, session, {.domain = domain});
    return session;
  }
  std::int64_t restore(EngineRunner& runner, const std::array<std::uint64_t, 2>& domain = {}) {
    return restore_session(runner.engine(), SessionFile(path_), weights_, {.domain = domain});
  }
  std::int64_t cached(EngineRunner& runner, const std::vector<std::int32_t>& prompt,
                      const std::array<std::uint64_t, 2>& domain = {}) {
    Request request{.prompt = prompt, .max_tokens = 1};
    request.domain = domain;
    return run(runner, std::move(request)).outcome.cached_tokens;
  }
  std::string refusal(EngineRunner& runner, const ModelFingerprint& weights) {
    try {
      restore_session(runner.engine(), SessionFile(path_), weights);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kModel);
      return error.message();
    }
    return {};
  }
  void change_file(std::size_t at, std::uint32_t value, std::size_t bytes = 4) {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(at));
    file.write(reinterpret_cast<const char*>(&value), static_cast<std::streamsize>(bytes));
  }

  TempFolder folder_;
  std::string path_ = folder_.path("a.session");
  /// Layers with and without a window.
  std::unique_ptr<EditableCheckpoint> checkpoint_ =
      make_checkpoint(two_layers(random_models(F32::kFormat)[1]), 1);
  EngineRunner runner_{*checkpoint_};
  ModelFingerprint weights_ = fingerprint(*checkpoint_, runner_);
  std::int64_t saved_ = 0;
};

TEST_F(SessionTest, TheModelHasAGroupWithAWindow) {
  const KvCache& cache = runner_.model().executor().cache();
  ASSERT_EQ(cache.groups(), 2);
  EXPECT_GT(cache.group(0).window + cache.group(1).window, 0);
}

TEST_F(SessionTest, AFingerprintIsOfTheWeightsAndOfWhatIsMadeOfThem) {
  EXPECT_EQ(fingerprint(*make_checkpoint(two_layers(random_models(F32::kFormat)[1]), 1), runner_),
            weights_);
  EXPECT_NE(fingerprint(*make_checkpoint(two_layers(random_models(F32::kFormat)[1]), 2), runner_),
            weights_);
  EXPECT_NE(model_fingerprint(*checkpoint_, runner_.model().spec(), Q8_0::kFormat,
                              runner_.model().pool()),
            weights_);
  Spec spec = runner_.model().spec();
  spec.ropes[0].inverse_frequency[0] *= 0.5;
  EXPECT_NE(model_fingerprint(*checkpoint_, spec, std::nullopt, runner_.model().pool()), weights_);
  checkpoint_->flip_bit(std::string(checkpoint_->tensors().back().name));
  EXPECT_NE(fingerprint(*checkpoint_, runner_), weights_);
}

TEST_F(SessionTest, AnotherModelOrKvTypeOrOrderIsRefusedAndNothingChanges) {
  const Session session = save(runner_, request(40, 10));
  EngineRunner fresh(*checkpoint_);
  EXPECT_NE(refusal(fresh, {weights_[0] ^ 1, weights_[1]}).find("fingerprint"), std::string::npos);
  EngineRunner int8(*checkpoint_, options(KvType::kInt8));
  EXPECT_NE(refusal(int8, weights_).find("F16, here they are INT8"), std::string::npos);
  const auto other = make_checkpoint(two_layers(random_models(F32::kFormat)[0]), 1);
  EngineRunner layers(*other);
  EXPECT_NE(refusal(layers, weights_).find("another model"), std::string::npos);
  change_file(12, 77);
  EXPECT_NE(refusal(fresh, weights_).find("order version 77"), std::string::npos);
  EXPECT_EQ(cached(fresh, session.tokens), 0);
  EXPECT_EQ(cached(int8, session.tokens), 0);
}

TEST_F(SessionTest, ADamagedFileIsRefusedAndNothingChanges) {
  const Session session = save(runner_, request(40, 10));
  const auto size = std::filesystem::file_size(path_);
  EngineRunner fresh(*checkpoint_);
  change_file(size - 1000, 0xa5, 1);
  EXPECT_NE(refusal(fresh, weights_).find("damaged"), std::string::npos);
  std::filesystem::resize_file(path_, size - 1);
  EXPECT_NE(refusal(fresh, weights_).find("needs 8 bytes, 7 are left"), std::string::npos);
  EXPECT_EQ(cached(fresh, session.tokens), 0);
}

TEST_F(SessionTest, WhatIsThereAlreadyIsNotTakenTwice) {
  const Session session = save(runner_, request(60, 10));
  EXPECT_EQ(saved_, 64);
  EngineRunner fresh(*checkpoint_);
  run(fresh, {.prompt = {session.tokens.begin(), session.tokens.begin() + 40}, .max_tokens = 1});
  BlockPool& pool = fresh.model().executor().cache().pool(1);
  const std::int32_t before = pool.evictable();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(restore(fresh), 64);
    EXPECT_EQ(fresh.blocks_in_use(), 0);
    EXPECT_EQ(pool.evictable() - before, 2);
  }
  EXPECT_EQ(cached(fresh, session.tokens), 64);
}

TEST_F(SessionTest, BlocksAreOfADomain) {
  const Session session = save(runner_, request(40, 10), {1, 1});
  EXPECT_EQ(saved_, 48);
  save_session(runner_.engine(), path_ + "2", session, {.domain = {1, 2}});
  EXPECT_EQ(SessionFile(path_ + "2").blocks(), 0) << "another domain's blocks were written";
  EngineRunner fresh(*checkpoint_);
  EXPECT_EQ(restore(fresh, {1, 1}), 48);
  EXPECT_EQ(cached(fresh, session.tokens, {1, 2}), 0);
  EXPECT_EQ(cached(fresh, session.tokens, {1, 1}), 48);
}

TEST_F(SessionTest, AsManyBlocksFromTheFrontAsThereIsRoomFor) {
  RunnerOptions wide = EngineRunner::defaults();
  wide.context = 256;
  EngineRunner first(*checkpoint_, wide);
  const Session session = save(first, request(200, 20));
  EXPECT_EQ(saved_, 208);
  wide.pool_sequences = 1;
  EngineRunner busy(*checkpoint_, wide);
  // Its front is known: those blocks are among the evictable ones and must not be given away.
  cached(busy, {session.tokens.begin(), session.tokens.begin() + 40});
  Stream other =
      *busy.engine().submit({.prompt = std::vector<std::int32_t>(100, 1), .max_tokens = 12});
  for (int i = 0; i < 5; ++i) busy.engine().step();
  const std::int64_t room = 16 * busy.model().executor().cache().pool(1).available();
  EXPECT_EQ(room, (16 - 7) * 16);
  EXPECT_EQ(restore(busy), room);
  while (busy.engine().step()) continue;
  EXPECT_EQ(other.outcome().finish, FinishReason::kLength);
  EngineRunner cold(*checkpoint_, wide, {.prefix_cache = false});
  const Request next{.prompt = session.tokens, .max_tokens = 5};
  const Ran want = run(cold, next), got = run(busy, next);
  EXPECT_EQ(got.got.ids, want.got.ids);
  EXPECT_EQ(got.outcome.cached_tokens, room);
}

TEST_F(SessionTest, WhatOthersRunWithNeedsNoRoom) {
  RunnerOptions wide = EngineRunner::defaults();
  wide.context = 256;
  EngineRunner first(*checkpoint_, wide);
  const Session session = save(first, request(200, 20));
  wide.pool_sequences = 1;
  EngineRunner busy(*checkpoint_, wide);
  const Request front{.prompt = {session.tokens.begin(), session.tokens.begin() + 100},
                      .max_tokens = 12};
  Stream other = *busy.engine().submit(Request(front));
  for (int i = 0; i < 5; ++i) busy.engine().step();
  EXPECT_EQ(busy.model().executor().cache().pool(1).available(), 16 - 7);
  EXPECT_EQ(restore(busy), 208) << "6 of these 13 blocks are there";
  while (busy.engine().step()) continue;
  EXPECT_EQ(busy.blocks_in_use(), 0);
}

/// More of a window than the last row sees is restored where blocks are free.
TEST_F(SessionTest, AnEditedSessionBeginsWithAnEarlierWindow) {
  const Session session = save(runner_, request(70, 10));
  EngineRunner fresh(*checkpoint_);
  EXPECT_EQ(restore(fresh), 64);
  EXPECT_EQ(cached(fresh, {session.tokens.begin(), session.tokens.begin() + 40}), 32);
}

TEST_F(SessionTest, WithoutACacheASessionIsItsTokens) {
  EngineRunner forgetful(*checkpoint_, EngineRunner::defaults(), {.prefix_cache = false});
  const Session session = save(forgetful, request(40, 10));
  EXPECT_EQ(saved_, 0);
  EXPECT_EQ(SessionFile(path_).session().tokens, session.tokens);
  save(runner_, request(40, 10));
  EXPECT_EQ(saved_, 48);
  EXPECT_EQ(restore(forgetful), 0);
}

TEST_F(SessionTest, BetweenTheStepsOfAThread) {
  EngineRunner alone(*checkpoint_);
  const Ran want = run(alone, request(30, 60));
  Engine& engine = runner_.engine();
  const std::thread::id here = std::this_thread::get_id();
  engine.between_steps([&] { EXPECT_EQ(std::this_thread::get_id(), here) << "it has no thread"; });
  engine.start();
  const Session session = session_of(request(30, 0), want.got.ids);
  Stream other = *engine.submit(request(30, 60));
  std::int64_t saved = 0;
  std::thread saver([&] {
    for (int i = 0; i < 20 || (saved == 0 && i < 2000); ++i) {
      Session mine = session;
      mine.model.weights = weights_;
      saved = save_session(engine, path_, std::move(mine));
      EXPECT_GE(restore(runner_), saved) << "steps go on meanwhile";
    }
  });
  Collected got;
  while (const auto delta = other.next()) got.add(*delta);
  saver.join();
  EXPECT_EQ(got.ids, want.got.ids);
  EXPECT_GT(saved, 0);
  EXPECT_THROW(engine.between_steps([] { throw Error(ErrorCode::kIo, "its own"); }), Error);
  int runs = 0;
  engine.between_steps([&] {
    ++runs;
    EXPECT_NE(std::this_thread::get_id(), here);
  });
  EXPECT_EQ(runs, 1);
  engine.stop();
  EXPECT_THROW(engine.between_steps([&] { ++runs; }), Error);
  EXPECT_EQ(runs, 1);
}

/// Counts how often the engine's thread came around.
class TurnCounter final : public EngineObserver {
 public:
  void step(const StepRecord&) override { ++turns_; }
  void state(const StepRecord&) override { ++turns_; }
  void first_token(const RequestRecord&) override {}
  void token(double) override {}
  void request(const RequestRecord&) override {}
  int turns() const { return turns_.load(); }

 private:
  std::atomic<int> turns_{0};
};

TEST_F(SessionTest, AFewBlocksAreCopiedBetweenTwoSteps) {
  TurnCounter counter;
  EngineRunner runner(*checkpoint_, EngineRunner::defaults(),
                      {.session_bytes = 1, .observer = &counter});
  Session session = session_of(request(60, 0), run(runner, request(60, 30)).got.ids);
  session.model.weights = weights_;
  runner.engine().start();
  int before = counter.turns();
  EXPECT_EQ(save_session(runner.engine(), path_, session), 80);
  EXPECT_GE(counter.turns() - before, 5) << "a block a turn";
  runner.engine().between_steps([&] { runner.engine().flush_prefixes(); });
  before = counter.turns();
  EXPECT_EQ(restore(runner), 80);
  EXPECT_GE(counter.turns() - before, 5);
}

/// The file is a pipe, which is not read until another request has ended.
TEST_F(SessionTest, WritingTheFileHoldsNobodyUp) {
  Session session = session_of(request(60, 0), run(runner_, request(60, 30)).got.ids);
  session.model.weights = weights_;
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  runner_.engine().start();
  std::thread saver([&] { EXPECT_EQ(save_session(runner_.engine(), path_, session), 80); });
  Stream other = *runner_.engine().submit(request(30, 60));
  std::size_t tokens = 0;
  while (const auto delta = other.next()) tokens += delta->ids.size();
  EXPECT_EQ(tokens, 60u);
  std::ifstream pipe(path_, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(pipe), {});
  saver.join();
  const SessionFile file(std::as_bytes(std::span(bytes)), "a pipe");
  EXPECT_EQ(file.session().tokens, session.tokens);
  EXPECT_EQ(file.blocks(), 5);
}

TEST_F(SessionTest, ContinuedIsOfThePrompt) {
  Request wrong = request(5, 1);
  for (const std::int64_t continued : {-1, 6}) {
    wrong.continued = continued;
    EXPECT_THROW(static_cast<void>(runner_.engine().submit(Request(wrong))), Error) << continued;
  }
}

/// An end token is forbidden for as many tokens as are missing from min_tokens, those of the
/// session counted.
TEST_F(SessionTest, TheLeastTokensAreCountedThrough) {
  Request asked = request(10, 30);
  asked.sampling.min_tokens = 20;
  for (std::int32_t id = 0; id < 37; ++id) asked.sampling.end_ids.push_back(id);
  asked.sampling.end_ids.erase(asked.sampling.end_ids.begin() + 4);
  asked.sampling.logit_bias = {{4, -50}};
  EngineRunner whole(*checkpoint_);
  const Ran want = run(whole, asked);
  EXPECT_EQ(want.got.ids.size(), 20u);
  EXPECT_EQ(bits(Interruption(*checkpoint_, options()).run(asked, 12)), bits(want.got));
}

/// Stop strings that begin in what was drawn before, and characters that were cut.
TEST_F(SessionTest, TextGoesOnToo) {
  RandomModel model = two_layers(random_models(F32::kFormat)[2]);
  model.config.vocab = 259;
  const auto checkpoint = make_checkpoint(model, 8);
  std::vector<std::string> warnings;
  const auto tokenizer =
      make_tokenizer(ingot::testing::byte_level_data("gpt-2", {{"t", "h"}}), warnings);
  Request asked{.prompt = {'a', 'b'}, .max_tokens = 30};
  asked.sampling.temperature = 1;
  for (std::int32_t id = 'a'; id <= 'e'; ++id) asked.sampling.logit_bias.push_back({id, 40});
  EngineRunner free(*checkpoint, EngineRunner::defaults(), {}, tokenizer.get());
  const std::string text = run(free, asked).got.text;
  ASSERT_EQ(text.size(), 30u) << "a letter a token";
  for (const std::size_t start : {8u, 9u, 11u, 20u}) {
    asked.stop = {text.substr(start, 6)};
    const Ran want = run(free, asked);
    const std::string got =
        Interruption(*checkpoint, options(), tokenizer.get()).run(asked, 10).text;
    // Text that could have begun a stop string was delivered when the first part ended.
    EXPECT_EQ(got, text.substr(0, std::max<std::size_t>(10, want.got.text.size()))) << start;
  }
  asked.stop = {text.substr(8, 2) + "never"};
  EXPECT_EQ(Interruption(*checkpoint, options(), tokenizer.get()).run(asked, 10).text, text);
}

}  // namespace
}  // namespace ingot::testing_support
