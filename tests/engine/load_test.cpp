// cache_invariance under load: many requests on real files, by twelve schedules, each of which
// gives every request the bits of its solo run.
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "base/full_run_test_util.h"
#include "base/shared_data_test_util.h"
#include "base/text.h"
#include "engine/engine_test_util.h"
#include "runtime/instance.h"
#include "runtime/session/session.h"

namespace ingot::testing_support {
namespace {

namespace fs = std::filesystem;

/// Tokens of the longest request. A pool of one context has room for 1.2 of them.
constexpr std::int64_t kPromptMax = 90;
constexpr std::int64_t kTokensMax = 24;
constexpr std::int64_t kContext = (kPromptMax + kTokensMax) * 12 / 10;

/// How requests meet.
struct Schedule {
  int threads = 1;
  std::int32_t sequences = 8;
  std::int32_t rows = 64;            ///< rows of a step
  std::int32_t pool = 0;             ///< contexts that the pool holds; 0 = one for each sequence
  bool cache = true;                 ///< prefixes are kept
  bool warm = false;                 ///< everything has run once before
  Policy policy = Policy::kArrival;  ///< with random priorities and tenants
  int cancels = 0;                   ///< strangers that are dropped midway, for each 10 requests
  int arrivals = 4;                  ///< requests that come at once, at most
  std::size_t deltas = 256;  ///< unread deltas at which a request pauses; fewer make slow readers
};

constexpr Schedule kSchedules[] = {
    {.sequences = 1, .rows = 512, .cache = false},
    {.sequences = 16, .rows = 512, .arrivals = 200},
    {.sequences = 8, .rows = 8, .cache = false},
    {.threads = 2, .sequences = 12, .rows = 33},
    {.threads = 2, .sequences = 16, .rows = 128, .pool = 1, .arrivals = 200},
    {.sequences = 6, .rows = 40, .pool = 1, .cache = false},
    {.sequences = 8, .rows = 96, .warm = true},
    {.threads = 2, .sequences = 5, .rows = 17, .pool = 2, .warm = true, .cancels = 3},
    {.sequences = 8, .rows = 64, .policy = Policy::kPriority, .cancels = 2},
    {.threads = 2, .sequences = 4, .rows = 64, .pool = 1, .policy = Policy::kPriority},
    {.sequences = 10, .rows = 50, .pool = 2, .deltas = 2},
    {.threads = 2,
     .sequences = 16,
     .rows = 16,
     .pool = 3,
     .cancels = 5,
     .arrivals = 50,
     .deltas = 3},
};

class Load {
 public:
  Load(fs::path file, KvType kv_type, int requests) : file_(std::move(file)), kv_type_(kv_type) {
    const auto instance = open({.sequences = 1, .rows = 512});
    make_requests(requests, instance->sampled_ids());
    const auto engine = instance->make_engine({.prefix_cache = false});
    for (const Request& request : requests_) expected_.push_back(alone(*engine, request));
  }

  void run(const Schedule& schedule) {
    std::mt19937_64 rng(7);
    const auto instance = open(schedule);
    const auto engine = instance->make_engine({.waiting_max = 4096,
                                               .deltas_max = schedule.deltas,
                                               .prefix_cache = schedule.cache,
                                               .waiting = {.policy = schedule.policy}});
    for (int pass = 0; pass < (schedule.warm ? 2 : 1); ++pass) serve(*engine, schedule, rng);
    preemptions_ += engine->scheduler().preemptions();
  }
  std::int64_t preemptions() const { return preemptions_; }
  std::int64_t cached() const { return cached_; }

 private:
  struct Reader {
    std::optional<Stream> stream;
    Collected got;
    bool done = false;
  };

  std::unique_ptr<Instance> open(const Schedule& schedule) {
    pools_.push_back(std::make_unique<ThreadPool>(schedule.threads));
    auto instance = std::make_unique<Instance>(
        *pools_.back(), InstanceOptions{.path = file_.string(), .kv_type = kv_type_});
    StartOptions start;
    start.context = kContext;
    start.sequences = schedule.sequences;
    start.rows = std::max(schedule.rows, schedule.sequences);
    start.generates = true;
    start.prompt_logprobs = 2;
    start.pool_sequences = schedule.pool;
    instance->start(start, [](std::uint64_t, std::uint64_t) {});
    return instance;
  }

  /// Half of them begin with one of a few prefixes.
  void make_requests(int count, std::int64_t ids) {
    std::mt19937_64 rng(11);
    const auto below = [&](std::int64_t n) {
      return static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(n));
    };
    std::vector<std::vector<std::int32_t>> prefixes(5);
    for (auto& prefix : prefixes) {
      for (std::int64_t n = 1 + below(70); n > 0; --n) {
        prefix.push_back(static_cast<std::int32_t>(below(ids)));
      }
    }
    for (int i = 0; i < count; ++i) {
      Request r{.max_tokens = 1 + below(kTokensMax), .ignore_eos = true, .digest = true};
      if (below(2) == 0) r.prompt = prefixes[static_cast<std::size_t>(below(5))];
      const std::int64_t length =
          std::min(kPromptMax, std::ssize(r.prompt) + 1 + below(kPromptMax));
      while (std::ssize(r.prompt) < length) {
        r.prompt.push_back(static_cast<std::int32_t>(below(ids)));
      }
      r.sampling.temperature = below(2) == 0 ? 0.0F : 1.0F;
      r.sampling.seed = rng();
      if (below(8) == 0) r.prompt_logprobs = 2;
      if (below(4) == 0) r.sampling.repetition_penalty = 1.2F;
      requests_.push_back(std::move(r));
    }
  }

  static std::string alone(Engine& engine, const Request& request) {
    Stream stream = *engine.submit(Request(request));
    Collected got;
    while (engine.step()) {
      while (const auto delta = stream.try_next()) got.add(*delta);
    }
    while (const auto delta = stream.try_next()) got.add(*delta);
    return describe(got, stream.outcome());
  }

  void serve(Engine& engine, const Schedule& schedule, std::mt19937_64& rng) {
    std::vector<Reader> readers(requests_.size());
    std::vector<Stream> strangers;
    std::size_t begun = 0, done = 0;
    while (done < readers.size()) {
      for (std::uint64_t n = rng() % static_cast<std::uint64_t>(schedule.arrivals + 1);
           n > 0 && begun < readers.size(); --n) {
        readers[begun].stream = submit(engine, requests_[begun], rng);
        ++begun;
        if (static_cast<int>(rng() % 10) < schedule.cancels) {
          strangers.push_back(submit(engine, requests_[rng() % requests_.size()], rng));
        }
      }
      engine.step();
      if (!strangers.empty() && rng() % 3 == 0) strangers.erase(strangers.begin());
      for (std::size_t i = 0; i < begun; ++i) done += read(readers[i], i, schedule, rng) ? 1 : 0;
    }
    strangers.clear();
    while (engine.step()) continue;
  }

  Stream submit(Engine& engine, Request request, std::mt19937_64& rng) {
    request.priority = static_cast<std::int32_t>(rng() % 5);
    request.tenant = rng() % 3;
    return *engine.submit(std::move(request));
  }

  /// Whether it came to its end now.
  bool read(Reader& reader, std::size_t number, const Schedule& schedule, std::mt19937_64& rng) {
    if (reader.done) return false;
    const bool slow = schedule.deltas < 10;
    for (std::uint64_t n = slow ? rng() % 3 : 1000; n > 0; --n) {
      const auto delta = reader.stream->try_next();
      if (!delta) break;
      reader.got.add(*delta);
    }
    if (!reader.stream->finished()) return false;
    reader.done = true;
    const Outcome& outcome = reader.stream->outcome();
    EXPECT_EQ(describe(reader.got, outcome), expected_[number]) << "request " << number;
    EXPECT_LE(outcome.preemptions, 8);
    cached_ += outcome.cached_tokens;
    return true;
  }

  fs::path file_;
  KvType kv_type_;
  std::vector<std::unique_ptr<ThreadPool>> pools_;
  std::vector<Request> requests_;
  std::vector<std::string> expected_;
  std::int64_t preemptions_ = 0;
  std::int64_t cached_ = 0;
};

/// The built-in model, and golden ones: the first with a window and the first with experts.
std::vector<fs::path> model_files() {
  std::vector<fs::path> files{fs::path(INGOT_SOURCE_DIR) / "models" / "ingot-demo.gguf"};
  std::optional<fs::path> window, experts;
  for (const fs::path& folder : shared_entries("goldens/models")) {
    ThreadPool pool(1);
    const Instance instance(pool, {.path = folder.string()});
    const Spec& spec = instance.spec();
    if (spec.context < kContext) continue;
    const bool windowed = std::any_of(spec.layer_specs.begin(), spec.layer_specs.end(),
                                      [](const LayerSpec& layer) { return layer.window > 0; });
    if (windowed && !window) window = folder;
    if (spec.moe.experts > 0 && !experts) experts = folder;
  }
  for (const auto& folder : {window, experts}) {
    if (folder) files.push_back(*folder);
  }
  return files;
}

class cache_invariance : public ::testing::TestWithParam<KvType> {};

TEST_P(cache_invariance, UnderLoadEveryRequestGivesItsSoloRun) {
  const int requests = random_runs(60, 200, 30);
  const int least_cached = requests < 60 ? 10 * 16 : 15 * requests;
  const std::vector<fs::path> files = model_files();
  for (const fs::path& file : files) {
    Load load(file, GetParam(), requests);
    for (std::size_t n = 0; n < std::size(kSchedules); ++n) {
      SCOPED_TRACE(cat(file.filename().string(), ", schedule ", n));
      load.run(kSchedules[n]);
      if (HasFailure()) return;
    }
    EXPECT_GT(load.preemptions(), 10) << "the pools were too large to test anything";
    EXPECT_GT(load.cached(), least_cached) << "too little was taken over to test anything";
  }
  if (files.size() < 3) GTEST_SKIP() << "no golden models: only the built-in one was tested";
}

INSTANTIATE_TEST_SUITE_P(KvTypes, cache_invariance, ::testing::Values(KvType::kF16, KvType::kInt8),
                         [](const auto& type) { return std::string(to_string(type.param)); });

}  // namespace
}  // namespace ingot::testing_support
