// F1 at the engine: how soon a cancelled request's blocks are free, on an engine with a thread that
// also serves 64 streams to their ends.
//
// usage: cancel_bench MODEL [CANCELS]
//
// Prints one line of JSON for each figure; the exit code is 1 where one is missed.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "base/error.h"
#include "runtime/instance.h"

namespace ingot {
namespace {

constexpr std::size_t kControls = 64;
constexpr std::size_t kStrangers = 16;  ///< at once
constexpr std::int64_t kTokensMax = 64;
constexpr double kAllowedSeconds = 0.05;  ///< beyond one step
constexpr std::uint64_t kSeed = 1;

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  const auto at = static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

/// Keeps every time that it is told.
class Times final : public EngineObserver {
 public:
  void step(const StepRecord& r) override { add(steps_, r.seconds); }
  void token(double) override {}
  void request(const RequestRecord&) override {}
  void freed(double seconds) override { add(freed_, seconds); }

  std::vector<double> steps() const { return copy(steps_); }
  std::vector<double> freed() const { return copy(freed_); }

 private:
  void add(std::vector<double>& list, double seconds) {
    const std::lock_guard lock(mutex_);
    list.push_back(seconds);
  }
  std::vector<double> copy(const std::vector<double>& list) const {
    const std::lock_guard lock(mutex_);
    return list;
  }

  mutable std::mutex mutex_;
  std::vector<double> steps_, freed_;
};

class Bench {
 public:
  Bench(Instance& instance, std::size_t cancels) : cancels_(cancels) {
    std::mt19937_64 rng(kSeed);
    for (std::size_t i = 0; i < kControls; ++i) {
      requests_.push_back(random_request(instance, rng));
    }
    {
      const auto engine = instance.make_engine();
      engine->start();
      for (const Request& r : requests_) expected_.push_back(ids_of(*engine->submit(Request(r))));
    }
    engine_ = instance.make_engine({.observer = &times_});
    engine_->prepare();
    engine_->start();
    cancel_all(instance);
    engine_->stop();
  }

  bool report() const {
    const double step = quantile(times_.steps(), 0.99);
    const double freed = quantile(times_.freed(), 0.99);
    bool good = print("step_p99_ms", step * 1e3, std::nullopt);
    good &= print("cancel_to_free_p99_ms", freed * 1e3, (step + kAllowedSeconds) * 1e3);
    good &= print("control_streams_that_differ", static_cast<double>(different_), 0);
    print("control_streams", static_cast<double>(compared_), std::nullopt);
    print("cancels", static_cast<double>(times_.freed().size()), std::nullopt);
    return good;
  }

 private:
  static Request random_request(const Instance& instance, std::mt19937_64& rng) {
    Request r{.max_tokens = kTokensMax, .ignore_eos = true};
    for (std::uint64_t n = 1 + rng() % 100; n > 0; --n) {
      r.prompt.push_back(
          static_cast<std::int32_t>(rng() % static_cast<std::uint64_t>(instance.sampled_ids())));
    }
    r.sampling.temperature = 1;
    r.sampling.seed = rng();
    return r;
  }

  static std::vector<std::int32_t> ids_of(Stream stream) {
    std::vector<std::int32_t> ids;
    while (const auto delta = stream.next()) {
      ids.insert(ids.end(), delta->ids.begin(), delta->ids.end());
    }
    return ids;
  }

  /// Requests that are cancelled after some token, one after the other, until there were enough.
  /// Without that they would run for long, so that none ends by itself.
  void cancel_some(const Instance& instance, std::uint64_t seed) {
    std::mt19937_64 rng(seed);
    while (begun_++ < cancels_) {
      Request request = random_request(instance, rng);
      request.max_tokens = 2 * kTokensMax;
      Stream stream = *engine_->submit(std::move(request));
      for (std::uint64_t tokens = rng() % kTokensMax; tokens > 0 && stream.next(); --tokens)
        continue;
      stream.cancel();
    }
  }

  /// Each control stream and each stranger has a reader.
  void cancel_all(const Instance& instance) {
    std::atomic<bool> over{false};
    std::vector<std::thread> controls, strangers;
    for (std::size_t i = 0; i < kControls; ++i) {
      controls.emplace_back([&, i] {
        while (!over.load()) {
          different_ += ids_of(*engine_->submit(Request(requests_[i]))) == expected_[i] ? 0 : 1;
          ++compared_;
        }
      });
    }
    for (std::size_t i = 0; i < kStrangers; ++i) {
      strangers.emplace_back([&, i] { cancel_some(instance, kSeed + 1 + i); });
    }
    for (std::thread& stranger : strangers) stranger.join();
    over.store(true);
    for (std::thread& control : controls) control.join();
  }

  /// Whether the value keeps its limit.
  static bool print(const char* figure, double value, std::optional<double> limit) {
    std::printf("{\"test\": \"F1\", \"figure\": \"%s\", \"value\": %.3f, \"limit\": ", figure,
                value);
    limit ? std::printf("%.3f", *limit) : std::printf("null");
    std::printf(", \"seed\": %llu}\n", static_cast<unsigned long long>(kSeed));
    return !limit || value <= *limit;
  }

  std::size_t cancels_;
  std::atomic<std::size_t> begun_{0};
  std::vector<Request> requests_;
  std::vector<std::vector<std::int32_t>> expected_;
  Times times_;
  std::unique_ptr<Engine> engine_;
  std::atomic<std::size_t> compared_{0}, different_{0};
};

bool run(const char* path, std::size_t cancels) {
  ThreadPool pool(static_cast<int>(std::thread::hardware_concurrency()));
  Instance instance(pool, {.path = path});
  StartOptions start;
  start.context = 256;
  start.sequences = static_cast<std::int32_t>(kControls + kStrangers / 2);
  start.rows = 512;
  start.generates = true;
  instance.start(start, [](std::uint64_t, std::uint64_t) {});
  return Bench(instance, cancels).report();
}

}  // namespace
}  // namespace ingot

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: cancel_bench MODEL [CANCELS]\n");
    return 64;
  }
  try {
    return ingot::run(argv[1], argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1000) ? 0 : 1;
  } catch (const ingot::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.message().c_str());
    return 2;
  }
}
