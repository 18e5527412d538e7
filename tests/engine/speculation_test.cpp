// Drafts by lookup, of a prediction and of a drafter: fewer steps, and the same tokens.
#include <map>
#include <stdexcept>

#include "engine/engine_test_util.h"
#include "engine/fake_device.h"
#include "quant/formats.h"
#include "runtime/draft/drafter.h"

namespace ingot::testing_support {
namespace {

/// The device's tokens count up by 3 + seed modulo 100, so seed 17 repeats 5 tokens.
constexpr std::uint64_t kPeriodic = 17;
/// This one repeats 100 tokens, more than a request draws.
constexpr std::uint64_t kNotPeriodic = 0;

std::vector<std::int32_t> tokens(std::uint64_t seed, std::uint64_t count) {
  std::vector<std::int32_t> ids;
  for (std::uint64_t i = 0; i < count; ++i) ids.push_back(FakeDevice::token(seed, i));
  return ids;
}

Request request(std::uint64_t seed, std::int64_t count) {
  Request made{.prompt = {1}, .max_tokens = count};
  made.sampling.seed = seed;
  return made;
}

/// An engine on a device whose steps take no time: all drafts pay.
class SpeculationTest : public ::testing::Test {
 protected:
  void make(const SpeculationOptions& options, std::int32_t steps_ahead = 1, bool draws = false) {
    auto device =
        std::make_unique<FakeDevice>(FakeDevice::Hook{}, FakeDevice::Hook{}, steps_ahead, draws);
    device_ = device.get();
    engine_ = engine_on(std::move(device), {.speculation = options, .now = [] { return 0.0; }});
  }
  /// Runs a request, whose tokens must be those without drafts. Returns its outcome.
  Outcome run(Request request) {
    const auto count = static_cast<std::uint64_t>(request.max_tokens);
    const auto want = tokens(request.sampling.seed, count);
    const int before = device_->runs();
    Stream stream = *engine_->submit(std::move(request));
    Collected got;
    for (bool more = true; more;) {
      more = engine_->step();
      while (const auto delta = stream.try_next()) got.add(*delta);
    }
    EXPECT_EQ(got.ids, want);
    steps_ = device_->runs() - before;
    return stream.outcome();
  }

  FakeDevice* device_ = nullptr;
  std::unique_ptr<Engine> engine_;
  int steps_ = 0;  ///< number of steps of the last `run`
};

TEST_F(SpeculationTest, LookupDraftsWhatRepeats) {
  make({.lookup = true});
  const Outcome outcome = run(request(kPeriodic, 60));
  EXPECT_LT(steps_, 20);
  EXPECT_EQ(outcome.accepted_drafts, 60 - steps_) << "each step draws one token without a draft";
  EXPECT_GE(outcome.drafts, outcome.accepted_drafts);
  EXPECT_EQ(outcome.predicted, 0);
}

TEST_F(SpeculationTest, WithoutDraftsEachTokenIsAStep) {
  make({});
  EXPECT_EQ(run(request(kPeriodic, 60)).drafts, 0);
  EXPECT_EQ(steps_, 60);
  make({.lookup = true});
  Request off = request(kPeriodic, 60);
  off.speculation.mode = SpeculationMode::kOff;
  EXPECT_EQ(run(std::move(off)).drafts, 0);
  EXPECT_EQ(steps_, 60);
}

TEST_F(SpeculationTest, ARequestMayAskForLookupOrANumberOfDrafts) {
  make({});
  Request lookup = request(kPeriodic, 60);
  lookup.speculation.mode = SpeculationMode::kLookup;
  run(std::move(lookup));
  EXPECT_LT(steps_, 20);
  Request few = request(kPeriodic, 60);
  few.speculation = {.mode = SpeculationMode::kLookup, .tokens = 1};
  run(std::move(few));
  EXPECT_GE(steps_, 30) << "at most two tokens a step";
  EXPECT_LT(steps_, 40);
}

/// Only requests of one domain draft from each other's texts.
TEST_F(SpeculationTest, LookupFindsWhatRequestsOfTheDomainWrote) {
  make({.lookup = true});
  for (const std::uint64_t domain : {1, 2}) {
    Request first = request(kNotPeriodic, 60);
    first.domain = {domain, domain};
    run(std::move(first));
    EXPECT_EQ(steps_, 60) << "nothing repeats";
  }
  Request again = request(kNotPeriodic, 60);
  again.domain = {1, 1};
  run(std::move(again));
  EXPECT_LT(steps_, 20);
}

TEST_F(SpeculationTest, ARequestThatReadsNoCacheSharesNoText) {
  make({.lookup = true});
  Request own = request(kNotPeriodic, 60);
  own.reads_cache = false;
  run(own);
  run(request(kNotPeriodic, 60));
  EXPECT_EQ(steps_, 60);
  run(own);
  EXPECT_EQ(steps_, 60);
}

/// The prediction lacks one token of the text.
TEST_F(SpeculationTest, APredictionIsDraftedAndCountedAlone) {
  for (const bool lookup : {false, true}) {
    make({.lookup = lookup});
    Request predicted = request(kNotPeriodic, 60);
    predicted.prediction = tokens(kNotPeriodic, 60);
    predicted.prediction.erase(predicted.prediction.begin() + 30);
    const Outcome outcome = run(std::move(predicted));
    EXPECT_LT(steps_, 15);
    EXPECT_EQ(outcome.predicted, outcome.drafts);
    EXPECT_EQ(outcome.accepted_predicted, outcome.accepted_drafts);
    EXPECT_GT(outcome.accepted_predicted, 45);
    EXPECT_GT(outcome.predicted, outcome.accepted_predicted) << "those behind the missing token";
  }
}

TEST_F(SpeculationTest, AWrongPredictionCostsNoToken) {
  make({});
  Request wrong = request(kNotPeriodic, 60);
  wrong.prediction = std::vector<std::int32_t>(50, 99);
  const Outcome outcome = run(std::move(wrong));
  EXPECT_EQ(outcome.predicted, 0) << "it begins otherwise";
  EXPECT_EQ(steps_, 60);
}

/// A device that draws ahead of the host waits where drafts are likely.
TEST_F(SpeculationTest, DevicesThatRunAheadVerifyDraftsToo) {
  for (const bool draws : {false, true}) {
    make({.lookup = true}, 2, draws);
    const Outcome outcome = run(request(kPeriodic, 90));
    EXPECT_LT(steps_, 40);
    EXPECT_GT(outcome.accepted_drafts, 50);
    run(request(kNotPeriodic, 60));
    const int ahead = draws ? 40 : 0;
    EXPECT_GE(device_->continued(), ahead) << "nothing to draft: steps run ahead";
  }
}

/// Fails, or proposes more than was asked for, and ids that no vocabulary has.
class BadDrafter final : public Drafter {
 public:
  /// Call number `works`, counted from 1, does not fail; 0: no call fails.
  explicit BadDrafter(int works) : works_(works) {}
  void propose(std::span<DraftTask* const> tasks) override {
    ++asked;
    if (works_ != 0 && asked != works_) throw std::runtime_error("no drafts today");
    for (DraftTask* const task : tasks) {
      for (int i = 0; i < 2 * kDraftsMax; ++i) task->drafts.push_back({.id = i % 2 == 0 ? 99 : 0});
    }
  }
  void failed(std::string_view error) override {
    EXPECT_EQ(error, "no drafts today");
    ++failures;
  }
  void end(RunningRequest&) override { ++ended; }

  int asked = 0, failures = 0, ended = 0;

 private:
  int works_;
};

TEST_F(SpeculationTest, ADrafterMayProposeTooMuch) {
  const auto drafter = std::make_shared<BadDrafter>(0);
  make({.model = drafter});
  run(request(kNotPeriodic, 30));
  EXPECT_EQ(drafter->failures, 0);
  EXPECT_EQ(drafter->ended, 1);
}

/// After the n-th error in a row, a drafter rests for 2^n steps. A draft ends the row.
TEST_F(SpeculationTest, ADrafterThatFailsRests) {
  const auto fails = std::make_shared<BadDrafter>(1000);
  make({.model = fails});
  run(request(kNotPeriodic, 30));
  EXPECT_EQ(fails->asked, 4) << "in steps 1, 4, 9 and 18";
  EXPECT_EQ(fails->failures, 4);
  EXPECT_EQ(fails->ended, 1);

  const auto works_once = std::make_shared<BadDrafter>(2);
  make({.model = works_once});
  run(request(kNotPeriodic, 30));
  EXPECT_EQ(works_once->asked, 6) << "in steps 1, 4, 5, 8, 13 and 22";
  EXPECT_EQ(works_once->failures, 5);
}

/// Keeps the hidden states that it sees, and proposes wrong drafts.
class SeeingDrafter final : public Drafter {
 public:
  void propose(std::span<DraftTask* const> tasks) override {
    for (DraftTask* const task : tasks) task->drafts.assign(2, {.id = 36});
  }
  void see(RunningRequest& request, std::int64_t row, std::span<const float> hidden) override {
    EXPECT_LE(row, request.sequence().length() + 2);
    rows[row].assign(hidden.begin(), hidden.end());
  }

  std::map<std::int64_t, std::vector<float>> rows;  ///< the last hidden state of each row
};

/// A head inside the model needs them. They equal the rows of a request for hidden states.
TEST(Speculation, ADrafterSeesTheHiddenStatesOfAllRows) {
  const auto checkpoint = make_checkpoint(two_layers(random_models(F32::kFormat)[2]), 1);
  RunnerOptions options = EngineRunner::defaults();
  options.draft_rows = 8;
  options.draft_hidden = true;
  options.late = 0;
  const auto drafter = std::make_shared<SeeingDrafter>();
  EngineRunner runner(*checkpoint, options, {.speculation = {.model = drafter}});
  Request request{.prompt = {3, 1, 4, 1, 5, 9, 2, 6}, .max_tokens = 9};
  Stream stream = *runner.engine().submit(Request(request));
  Collected got;
  for (bool more = true; more;) {
    more = runner.engine().step();
    while (const auto delta = stream.try_next()) got.add(*delta);
  }
  EXPECT_GT(stream.outcome().drafts, 0);
  request.prompt.insert(request.prompt.end(), got.ids.begin(), got.ids.end() - 1);
  request.max_tokens = 0;
  request.hidden = HiddenRows::kAll;
  request.final_norm = false;
  Stream all = *runner.engine().submit(Request(request));
  while (runner.engine().step()) {
  }
  const std::vector<float>& want = all.outcome().hidden;
  const auto cols = static_cast<std::size_t>(runner.model().spec().hidden);
  ASSERT_EQ(want.size(), request.prompt.size() * cols);
  for (std::size_t row = 0; row < request.prompt.size(); ++row) {
    const std::vector<float>& seen = drafter->rows[static_cast<std::int64_t>(row)];
    ASSERT_EQ(seen.size(), cols) << row;
    EXPECT_TRUE(std::equal(seen.begin(), seen.end(),
                           want.begin() + static_cast<std::ptrdiff_t>(row * cols)))
        << row;
  }
}

}  // namespace
}  // namespace ingot::testing_support
