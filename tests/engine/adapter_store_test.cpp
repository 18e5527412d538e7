// Adapters that come and go beside an engine's requests, with the demo model and its adapter.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "runtime/instance.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

const fs::path kModels = fs::path(INGOT_SOURCE_DIR) / "models";
const fs::path kPirate = kModels / "ingot-demo-pirate";

class AdapterStoreTest : public ::testing::Test {
 protected:
  static constexpr int kAdapters = 2;

  AdapterStoreTest() {
    instance_.start({.context = 256,
                     .sequences = 4,
                     .rows = 64,
                     .generates = true,
                     .prompt_logprobs = 0,
                     .more_adapters = true,
                     .adapters_max = kAdapters},
                    [](std::uint64_t, std::uint64_t) {});
    engine_ = instance_.make_engine();
  }
  ~AdapterStoreTest() override { fs::remove_all(folder_); }

  AdapterStore& store() { return instance_.adapters(); }
  std::shared_ptr<const AdapterList> list(const std::string& name, float scale = 1) {
    const AdapterChoice choice{.adapter = store().find(name), .scale = scale};
    return store().list({&choice, 1});
  }

  static std::vector<std::int32_t> prompt(std::int32_t length) {
    std::vector<std::int32_t> ids;
    for (std::int32_t i = 0; i < length; ++i) ids.push_back(300 + (i * 37) % 1500);
    return ids;
  }
  /// Runs a request alone. Returns its tokens with the digest of all logits, and sets `outcome_`.
  std::string run(std::vector<std::int32_t> ids, std::shared_ptr<const AdapterList> adapters) {
    Stream stream = *engine_->submit({.prompt = std::move(ids),
                                      .max_tokens = 12,
                                      .ignore_eos = true,
                                      .digest = true,
                                      .adapters = std::move(adapters)});
    std::string all;
    while (engine_->step()) continue;
    while (const auto delta = stream.try_next()) {
      for (const std::int32_t id : delta->ids) all += std::to_string(id) + " ";
    }
    outcome_ = stream.outcome();
    EXPECT_FALSE(outcome_.error);
    return all + outcome_.digest_text();
  }

  /// A copy of the pirate adapter that acts from some tokens on.
  std::string with_invocation(const std::string& tokens) {
    folder_ = fs::temp_directory_path() / ("ingot-adapter-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    fs::copy(kPirate / "adapter_model.safetensors", folder_, fs::copy_options::overwrite_existing);
    std::ifstream in(kPirate / "adapter_config.json");
    std::string config{std::istreambuf_iterator<char>(in), {}};
    config.insert(config.find('{') + 1, "\"alora_invocation_tokens\": [" + tokens + "],");
    std::ofstream(folder_ / "adapter_config.json") << config;
    return folder_.string();
  }

  ThreadPool pool_{2};
  Instance instance_{pool_, {.path = (kModels / "ingot-demo.gguf").string()}};
  std::unique_ptr<Engine> engine_;
  Outcome outcome_;
  fs::path folder_;
};

TEST_F(AdapterStoreTest, EqualListsHaveEqualNumbersUntilTheAdapterIsLoadedAgain) {
  store().load({.name = "a", .path = kPirate.string()});
  store().load({.name = "b", .path = kPirate.string(), .scale = 0.5f});
  EXPECT_EQ(store().list({}), nullptr);
  const std::uint64_t a = list("a")->number;
  EXPECT_EQ(list("a")->number, a);
  EXPECT_NE(list("b")->number, a);
  const std::uint64_t half = list("a", 0.5f)->number;
  EXPECT_EQ(list("a", 0.5f)->number, half);
  EXPECT_NE(half, a);
  const AdapterChoice both[] = {{.adapter = store().find("a")}, {.adapter = store().find("b")}};
  const AdapterChoice turned[] = {both[1], both[0]};
  EXPECT_NE(store().list(both)->number, store().list(turned)->number);
  EXPECT_EQ(store().list(both)->uses[1].scale, 0.5f);
  store().load({.name = "a", .path = kPirate.string()});
  EXPECT_NE(list("a")->number, a);
  EXPECT_NE(list("a", 0.5f)->number, half);
}

TEST_F(AdapterStoreTest, RequestsFinishOnTheLoadWithWhichTheyBegan) {
  store().load({.name = "a", .path = kPirate.string()});
  const std::int64_t one = store().bytes();
  EXPECT_GT(one, 0);
  auto old = list("a");
  const std::string before = run(prompt(40), old);
  EXPECT_NE(before, run(prompt(40), nullptr));
  store().load({.name = "a", .path = kPirate.string(), .scale = 0.25f});
  EXPECT_EQ(store().bytes(), 2 * one) << "the list holds the first load";
  EXPECT_NE(run(prompt(40), list("a")), before);
  EXPECT_EQ(run(prompt(40), old), before);
  EXPECT_TRUE(store().unload("a"));
  EXPECT_FALSE(store().unload("a"));
  EXPECT_EQ(store().find("a"), nullptr);
  EXPECT_EQ(store().bytes(), one);
  EXPECT_EQ(run(prompt(40), old), before);
  old = nullptr;
  EXPECT_EQ(store().bytes(), 0);
}

TEST_F(AdapterStoreTest, AFailedLoadChangesNothing) {
  const auto loaded = store().load({.name = "a", .path = kPirate.string()});
  const std::int64_t bytes = store().bytes();
  for (const char* path : {"/nowhere", "/dev/null"}) {
    EXPECT_THROW(store().load({.name = "a", .path = path}), Error);
  }
  store().load({.name = "b", .path = kPirate.string()});
  EXPECT_THROW(store().load({.name = "c", .path = kPirate.string()}), Error) << "too many";
  EXPECT_EQ(store().find("a"), loaded);
  EXPECT_EQ(store().find("c"), nullptr);
  EXPECT_EQ(store().bytes(), 2 * bytes);
  AdapterStore small(instance_.executor().model(), const_cast<Backend&>(instance_.backend()),
                     {.bytes = bytes + 10, .adapters = 8});
  small.load({.name = "a", .path = kPirate.string()});
  try {
    small.load({.name = "b", .path = kPirate.string()});
    ADD_FAILURE() << "there is no memory for it";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDoesNotFit);
    EXPECT_NE(error.message().find("10 are available"), std::string::npos) << error.message();
  }
}

TEST_F(AdapterStoreTest, OtherMemoryLowersTheLimit) {
  const std::int64_t one = store().load({.name = "a", .path = kPirate.string()})->adapter->bytes;
  AdapterStore small(instance_.executor().model(), const_cast<Backend&>(instance_.backend()),
                     {.bytes = 3 * one, .adapters = 8});
  small.load({.name = "a", .path = kPirate.string()});
  small.lower_bytes_max(one);
  small.load({.name = "b", .path = kPirate.string()});
  EXPECT_THROW(small.load({.name = "c", .path = kPirate.string()}), Error);
  EXPECT_EQ(small.bytes(), 2 * one);
}

TEST_F(AdapterStoreTest, MemoryIsKeptForLaterLoads) {
  const std::string path = (kModels / "ingot-demo.gguf").string();
  StartOptions start{.context = 256,
                     .sequences = 4,
                     .rows = 64,
                     .generates = true,
                     .more_adapters = true,
                     .adapters_max = 8};
  const Instance roomy(pool_, {.path = path});
  const std::int64_t without = roomy.plan(start).host.total_bytes();
  EXPECT_EQ(roomy.largest_adapter({}), 0);
  const std::int64_t one = roomy.adapter_bytes(open_adapter(kPirate.string()), {});
  start.later_adapter_bytes = 2 * one;
  EXPECT_EQ(roomy.plan(start).host.total_bytes(), without + 2 * one);

  Instance tight(pool_, {.path = path, .memory_limit = without + 2 * one});
  start.sequences = 64;
  start.pool_sequences = 4;
  const std::int32_t sequences = tight.fitting_pool(start);
  start.later_adapter_bytes = 0;
  EXPECT_GT(tight.fitting_pool(start), sequences) << "further sequences would take the memory";
  start.sequences = 4;
  start.later_adapter_bytes = 2 * one;
  tight.start(start, [](std::uint64_t, std::uint64_t) {});
  for (const char* name : {"a", "b"}) {
    EXPECT_EQ(tight.adapters().load({.name = name, .path = kPirate.string()})->adapter->bytes, one);
  }
  EXPECT_THROW(tight.adapters().load({.name = "c", .path = kPirate.string()}), Error);
}

/// Resident bytes of this process.
std::int64_t resident_bytes() {
  std::int64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

TEST_F(AdapterStoreTest, LoadsBesideStepsChangeNoRequestAndLeaveNoMemory) {
  store().load({.name = "a", .path = kPirate.string()});
  const auto list_of_a = list("a");
  const std::string alone = run(prompt(40), list_of_a);
  const auto turn = [&](int times) {
    std::thread loads([&] {
      for (int i = 0; i < times; ++i) {
        store().load({.name = "b", .path = kPirate.string(), .scale = 0.1f * float(i)});
        if (i % 3 == 0) store().unload("b");
      }
    });
    for (int i = 0; i < 3; ++i) EXPECT_EQ(run(prompt(40), list_of_a), alone);
    loads.join();
  };
  turn(10);
  const std::int64_t before = resident_bytes(), one = store().find("a")->adapter->bytes;
  turn(100);
  EXPECT_LE(store().bytes(), 2 * one);
#ifndef INGOT_SANITIZED  // they keep freed memory
  EXPECT_LT(resident_bytes() - before, one + (std::int64_t{16} << 20));
#endif
}

TEST_F(AdapterStoreTest, ListsThatCannotBeAreRefused) {
  const auto a = store().load({.name = "a", .path = kPirate.string()});
  const std::vector<AdapterChoice> many(kAdaptersMax + 1, {.adapter = a});
  EXPECT_THROW(store().list(many), Error);
  EXPECT_THROW(list("a", std::nanf("")), Error);
  EXPECT_THROW(list("a", std::numeric_limits<float>::infinity()), Error);
  const auto b = store().load({.name = "b", .path = with_invocation("700, 701")});
  const AdapterChoice both[] = {{.adapter = a}, {.adapter = b}};
  EXPECT_THROW(store().list(both), Error) << "an adapter with invocation tokens beside another";
}

/// Rows before the invocation tokens have the base's blocks. Later rows share theirs with requests
/// of the same adapter alone, and only where it begins at the same row.
TEST_F(AdapterStoreTest, InvocationTokensBeginTheAdaptersRows) {
  store().load({.name = "a", .path = with_invocation("700, 701")});
  store().load({.name = "whole", .path = kPirate.string()});
  std::vector<std::int32_t> ids = prompt(100);
  ids[40] = 700;
  ids[41] = 701;
  const std::string base = run(ids, nullptr);
  const std::string with = run(ids, list("a"));
  EXPECT_EQ(outcome_.cached_tokens, 32) << "the base's blocks before row 40";
  EXPECT_NE(with, base);
  EXPECT_NE(with, run(ids, list("whole")));
  EXPECT_EQ(run(ids, list("a")), with);
  EXPECT_EQ(outcome_.cached_tokens, 96) << "its own blocks";
  engine_->flush_prefixes();
  EXPECT_EQ(run(ids, list("a")), with) << "without a cache";
  ids[60] = 700;
  ids[61] = 701;  // the last occurrence counts: rows 40 to 59 are the base's now
  run(ids, list("a"));
  EXPECT_EQ(outcome_.cached_tokens, 32);
  EXPECT_THROW(run(prompt(30), list("a")), Error) << "no invocation tokens";
}

}  // namespace
}  // namespace ingot
