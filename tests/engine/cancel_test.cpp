// Tests of cancelling a thousand requests in any state: they end soon, without effect on others.
#include <map>

#include "base/text.h"
#include "engine/engine_test_util.h"
#include "quant/formats.h"

namespace ingot::testing_support {
namespace {

#ifdef INGOT_SANITIZED
constexpr int kCancels = 200;
#else
constexpr int kCancels = 1000;
#endif
constexpr std::size_t kControls = 64;
constexpr std::size_t kStrangers = 16;  ///< at once

/// Knows in which step each request ended.
class EndSteps final : public EngineObserver {
 public:
  void step(const StepRecord&) override { ++steps_; }
  void token(double) override {}
  void request(const RequestRecord& record) override { ends_[record.id] = steps_; }

  std::int64_t steps() const { return steps_; }
  std::int64_t end_of(std::uint64_t id) const { return ends_.at(id); }

 private:
  std::int64_t steps_ = 0;
  std::map<std::uint64_t, std::int64_t> ends_;
};

/// Control streams without an end, and strangers that are cancelled at points drawn uniformly: in
/// the queue, in the prompt, after some token, and just before they would have ended.
class CancelWorld {
 public:
  explicit CancelWorld(Checkpoint& checkpoint)
      : alone_(checkpoint), runner_(checkpoint, options(), {.observer = &ends_}) {
    for (int i = 0; i < 12; ++i) {
      requests_.push_back(random_request(rng_, 40, 40));
      expected_.push_back(run_alone(alone_, requests_.back()));
    }
  }

  void run() {
    controls_.resize(kControls);
    while (cancelled_.size() < kCancels) {
      for (Control& c : controls_) keep_going(c);
      while (strangers_.size() < kStrangers) arrive();
      engine().step();
      cancel_some();
    }
    strangers_.clear();
    while (engine().step()) read_controls();
    read_controls();
    for (const auto& [id, step] : cancelled_) EXPECT_LE(ends_.end_of(id) - step, 2) << id;
    EXPECT_GT(compared_, kCancels / 2);
    EXPECT_EQ(runner_.blocks_in_use(), 0);
    EXPECT_EQ(engine().under_way(), 0u);
  }

 private:
  struct Control {
    std::optional<Stream> stream;
    std::size_t request = 0;
    Collected got;
  };
  struct Stranger {
    Stream stream;
    std::int64_t left = 0;  ///< steps until it is cancelled
  };

  static RunnerOptions options() {
    RunnerOptions options = EngineRunner::defaults();
    options.sequences = 72;  // strangers wait for places
    options.rows = 120;
    return options;
  }
  Engine& engine() { return runner_.engine(); }
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(rng_() % static_cast<std::uint64_t>(n));
  }

  void keep_going(Control& c) {
    read(c);
    if (c.stream) return;
    c.request = static_cast<std::size_t>(below(std::ssize(requests_)));
    c.got = {};
    c.stream = engine().submit(Request(requests_[c.request]));
  }
  void read(Control& c) {
    if (!c.stream) return;
    while (const auto delta = c.stream->try_next()) c.got.add(*delta);
    if (!c.stream->finished()) return;
    EXPECT_EQ(describe(c.got, c.stream->outcome()), expected_[c.request]);
    ++compared_;
    c.stream.reset();
  }
  void read_controls() {
    for (Control& c : controls_) read(c);
  }

  void arrive() {
    Request request = random_request(rng_, 50, 40);
    request.ignore_eos = true;
    strangers_.push_back({.stream = *engine().submit(std::move(request)), .left = below(50)});
  }
  void cancel_some() {
    std::erase_if(strangers_, [&](Stranger& s) {
      while (s.stream.try_next()) continue;
      if (s.stream.finished()) return true;
      if (s.left-- > 0) return false;
      cancelled_.emplace(s.stream.id(), ends_.steps());
      if (below(2) == 0) s.stream.cancel();
      return true;
    });
  }

  std::mt19937_64 rng_{5};
  EndSteps ends_;
  EngineRunner alone_;
  EngineRunner runner_;
  std::vector<Request> requests_;
  std::vector<std::string> expected_;
  std::vector<Control> controls_;
  std::vector<Stranger> strangers_;
  std::map<std::uint64_t, std::int64_t> cancelled_;  ///< when, by number
  int compared_ = 0;
};

TEST(Cancel, AThousandLeaveNothingBehindAndNobodyNotices) {
  const auto checkpoint = make_checkpoint(two_layers(random_models(F32::kFormat)[2]), 1);
  CancelWorld(*checkpoint).run();
}

}  // namespace
}  // namespace ingot::testing_support
