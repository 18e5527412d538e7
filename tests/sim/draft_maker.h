// DraftMaker: drafts of every quality, for sequences whose next tokens are known.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/draft/drafter.h"
#include "sim/fake_model.h"
#include "sim/job.h"
#include "sim/random.h"
#include "sim/settings.h"

namespace ingot::sim {

/// Makes drafts that are right up to a place: all of them, some or none. Behind the place they are
/// other tokens. Some continue behind the end of the text.
class DraftMaker {
 public:
  DraftMaker(const Settings& settings, const Random& random)
      : settings_(settings), random_(random) {}

  /// Makes up to `most` drafts behind the first `length` rows of a job; in some calls none.
  void draw(const Job& job, std::int64_t length, std::int64_t most,
            std::vector<std::int32_t>& drafts);
  Random& random() { return random_; }

 private:
  const Settings& settings_;
  Random random_;
};

/// A Drafter in place of one with a model. Checks the calls. Some calls fail.
class FakeDrafter final : public Drafter {
 public:
  /// `model` is the engine's, and outlives it.
  FakeDrafter(const Settings& settings, const Random& random, const FakeModel& model)
      : settings_(settings), model_(model), maker_(settings, random) {}

  void propose(std::span<DraftTask* const> tasks) override;
  double seconds(std::size_t /*tasks*/) const override { return settings_.draft_seconds; }
  double likelihood() const override { return settings_.likelihood; }
  void end(RunningRequest& request) override;

 private:
  const Settings& settings_;
  const FakeModel& model_;
  DraftMaker maker_;
  std::vector<std::uint64_t> ended_;  ///< ids of ended requests
};

}  // namespace ingot::sim
