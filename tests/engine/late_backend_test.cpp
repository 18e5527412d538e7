// Engines on a device whose memory the host cannot touch give the results of engines on the host.
#include "engine/engine_test_util.h"
#include "quant/formats.h"

namespace ingot::testing_support {
namespace {

struct Result {
  std::string text;  ///< as `describe` writes it
  std::vector<float> hidden;

  bool operator==(const Result&) const = default;
};

std::vector<Result> run_all(EngineRunner& runner, const std::vector<Request>& requests) {
  std::vector<Stream> streams;
  for (const Request& r : requests) streams.push_back(*runner.engine().submit(Request(r)));
  std::vector<Collected> all(streams.size());
  for (bool more = true; more;) {
    more = runner.engine().step();
    for (std::size_t i = 0; i < streams.size(); ++i) {
      while (const auto delta = streams[i].try_next()) all[i].add(*delta);
    }
  }
  std::vector<Result> results;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const Outcome& outcome = streams[i].outcome();
    results.push_back({describe(all[i], outcome), outcome.hidden});
  }
  return results;
}

/// A pool for few sequences, so that some are preempted, share prefixes and copy blocks.
TEST(DeviceMemory, TheHostTouchesItOnlyThroughTheBackend) {
  for (const RandomModel& model : random_models(Q8_0::kFormat)) {
    SCOPED_TRACE(model.name);
    const auto checkpoint = make_checkpoint(two_layers(model), 1);
    std::mt19937_64 rng(7);
    std::vector<Request> requests;
    for (int i = 0; i < 16; ++i) {
      Request request = random_request(rng, 20, 60);
      if (i % 4 == 0) request = {.prompt = request.prompt, .hidden = HiddenRows::kAll};
      requests.push_back(request);
    }
    RunnerOptions options = EngineRunner::defaults();
    options.pool_sequences = 3;
    EngineRunner host(*checkpoint, options);
    options.guarded = true;
    EngineRunner device(*checkpoint, options);
    device.engine().prepare();
    const auto want = run_all(host, requests);
    const auto got = run_all(device, requests);
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_EQ(got[i], want[i]) << i;
  }
}

}  // namespace
}  // namespace ingot::testing_support
