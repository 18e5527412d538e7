// StepTrace: JSON that parses, with slices where records say, and bounded.
#include "runtime/observe/step_trace.h"

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/temp_folder_test_util.h"
#include "base/text.h"
#include "load/json.h"

namespace ingot {
namespace {

/// A finished trace, read back.
class Trace {
 public:
  explicit Trace(const std::string& path)
      : text_(File(path).read_all(1 << 24)), json_(parse_json(text_, "trace", "json")) {}

  std::size_t size() const { return text_.size(); }
  std::int64_t dropped() const {
    return *json_.find("otherData")->find("dropped_records")->as_int();
  }
  /// Events of a phase and name, in the file's order.
  std::vector<Json> events(std::string_view phase, std::string_view name) const {
    std::vector<Json> found;
    for (const Json& event : *json_.find("traceEvents")->as_array()) {
      if (text_of(event, "ph") == phase && text_of(event, "name") == name) found.push_back(event);
    }
    return found;
  }
  /// The only one.
  Json event(std::string_view phase, std::string_view name) const {
    const auto found = events(phase, name);
    EXPECT_EQ(found.size(), 1u) << phase << " " << name;
    return found.empty() ? Json::object() : found.front();
  }

  static std::string text_of(const Json& event, std::string_view key) {
    const Json* value = event.find(key);
    return value != nullptr && value->as_string() != nullptr ? *value->as_string() : "";
  }
  static double number(const Json& event, std::string_view key) {
    const Json* value = event.find(key);
    return value == nullptr ? -1 : value->number().value_or(-1);
  }
  static double arg(const Json& event, std::string_view key) {
    return number(*event.find("args"), key);
  }

 private:
  std::string text_;
  Json json_;
};

using Times = std::pair<double, double>;

/// When a slice begins and ends, in microseconds.
Times times(const Json& slice) {
  return {Trace::number(slice, "ts"), Trace::number(slice, "ts") + Trace::number(slice, "dur")};
}

void expect_times(const Json& slice, Times expected) {
  EXPECT_NEAR(times(slice).first, expected.first, 1e-6);
  EXPECT_NEAR(times(slice).second, expected.second, 1e-6);
}

StepRecord example_step() {
  StepRecord r{.number = 7,
               .start_seconds = 2,
               .seconds = 0.001,
               .plan_seconds = 0.0001,
               .forward_seconds = 0.0006,
               .sample_seconds = 0.0002,
               .deliver_seconds = 0.00005,
               .commit_seconds = 0.00003};
  r.decode_rows = 3;
  r.prefill_rows = 40;
  r.verify_rows = 5;
  r.drafts.add(4);
  r.drafts.accept(0);
  r.row_budget = 64;
  r.output_rows = 9;
  r.running = 4;
  r.waiting = 2;
  r.paused = 1;
  r.blocks_free = 10;
  r.blocks_evictable = 20;
  r.blocks_referenced = 30;
  r.preemptions = 6;
  return r;
}

TEST(StepTrace, AStepHasItsPhasesBelowItAndItsRows) {
  const TempFolder folder;
  StepTrace trace(folder.path("t.json"));
  trace.add(example_step());
  EXPECT_FALSE(std::filesystem::exists(folder.path("t.json")));
  trace.finish();
  const Trace read(folder.path("t.json"));
  const Json step = read.event("X", "step");
  expect_times(step, {2'000'000, 2'001'000});
  EXPECT_EQ(Trace::arg(step, "number"), 7);
  EXPECT_EQ(Trace::arg(step, "rows"), 48);
  EXPECT_EQ(Trace::arg(step, "row_budget"), 64);
  EXPECT_EQ(Trace::arg(step, "verify_rows"), 5);
  EXPECT_EQ(Trace::arg(step, "drafts"), 4);
  EXPECT_EQ(Trace::arg(step, "accepted_drafts"), 1);
  EXPECT_EQ(Trace::arg(step, "output_rows"), 9);
  EXPECT_EQ(Trace::arg(step, "preemptions"), 6);
  expect_times(read.event("X", "plan"), {2'000'000, 2'000'100});
  expect_times(read.event("X", "forward"), {2'000'100, 2'000'700});
  expect_times(read.event("X", "sample"), {2'000'700, 2'000'900});
  expect_times(read.event("X", "deliver"), {2'000'900, 2'000'950});
  expect_times(read.event("X", "commit"), {2'000'950, 2'000'980});
  EXPECT_TRUE(read.events("X", "linear").empty());
  EXPECT_EQ(read.dropped(), 0);
}

TEST(StepTrace, CountersAndNames) {
  const TempFolder folder;
  StepTrace trace(folder.path("t.json"));
  trace.add(example_step());
  trace.finish();
  const Trace read(folder.path("t.json"));
  const Json blocks = read.event("C", "blocks");
  EXPECT_EQ(Trace::number(blocks, "ts"), 2'001'000);
  EXPECT_EQ(Trace::arg(blocks, "free"), 10);
  EXPECT_EQ(Trace::arg(blocks, "evictable"), 20);
  EXPECT_EQ(Trace::arg(blocks, "referenced"), 30);
  const Json requests = read.event("C", "requests");
  EXPECT_EQ(Trace::arg(requests, "running"), 4);
  EXPECT_EQ(Trace::arg(requests, "waiting"), 2);
  EXPECT_EQ(Trace::arg(requests, "paused"), 1);
  EXPECT_EQ(Trace::arg(read.event("C", "rows"), "verify"), 5);
  const Json process = read.event("M", "process_name");
  EXPECT_EQ(Trace::text_of(*process.find("args"), "name"), "ingot");
  EXPECT_TRUE(process.find("pid") != nullptr && read.event("M", "thread_name").find("tid"));
}

TEST(StepTrace, OpsStandBelowTheForward) {
  const TempFolder folder;
  StepRecord record = example_step();
  record.profiled = true;
  record.op_seconds[static_cast<std::size_t>(OpKind::kNorm)] = 0.0001;
  record.op_seconds[static_cast<std::size_t>(OpKind::kLinear)] = 0.0003;
  record.op_seconds[static_cast<std::size_t>(OpKind::kLogits)] = 0.0005;  // more than there is
  StepTrace trace(folder.path("t.json"));
  trace.add(record);
  trace.finish();
  const Trace read(folder.path("t.json"));
  expect_times(read.event("X", "norm"), {2'000'100, 2'000'200});
  expect_times(read.event("X", "linear"), {2'000'200, 2'000'500});
  expect_times(read.event("X", "logits"), {2'000'500, 2'000'700});
  EXPECT_TRUE(read.events("X", "moe").empty());
}

TEST(StepTrace, ARequestIsASliceOfItsOwn) {
  const TempFolder folder;
  StepTrace trace(folder.path("t.json"));
  AdapterList adapters;
  adapters.names = {"a\"b", "c"};
  trace.add(RequestRecord{.id = 18446744073709551615u,
                          .queued_seconds = 1,
                          .start_seconds = 2,
                          .first_token_seconds = 3,
                          .end_seconds = 5,
                          .prompt_tokens = 11,
                          .miss = {.reason = MissReason::kEvicted, .token = 7},
                          .adapters = std::make_shared<const AdapterList>(adapters),
                          .generated_tokens = 22,
                          .finish = FinishReason::kStop});
  trace.finish();
  const Trace read(folder.path("t.json"));
  const auto at = [&](std::string_view phase, std::string_view name) {
    const Json event = read.event(phase, name);
    EXPECT_EQ(Trace::text_of(event, "id"), "18446744073709551615");
    return Trace::number(event, "ts") / 1e6;
  };
  EXPECT_EQ(at("b", "request"), 1);
  EXPECT_EQ(at("e", "request"), 5);
  EXPECT_EQ(at("b", "waiting"), 1);
  EXPECT_EQ(at("e", "waiting"), 2);
  EXPECT_EQ(at("b", "prompt"), 2);
  EXPECT_EQ(at("e", "prompt"), 3);
  EXPECT_EQ(at("b", "tokens"), 3);
  EXPECT_EQ(at("e", "tokens"), 5);
  EXPECT_EQ(at("n", "stop"), 5);
  EXPECT_EQ(at("n", "adapters: a\"b,c"), 2);
  EXPECT_EQ(at("n", "prefix miss: evicted"), 2);
  EXPECT_EQ(Trace::arg(read.event("n", "prefix miss: evicted"), "token"), 7);
  EXPECT_EQ(Trace::arg(read.event("b", "request"), "prompt_tokens"), 11);
  EXPECT_EQ(Trace::arg(read.event("e", "request"), "generated_tokens"), 22);
}

TEST(StepTrace, ARequestThatNeverRanOnlyWaits) {
  const TempFolder folder;
  StepTrace trace(folder.path("t.json"));
  trace.add(RequestRecord{.id = 1, .queued_seconds = 1, .end_seconds = 4});
  trace.finish();
  const Trace read(folder.path("t.json"));
  EXPECT_EQ(Trace::number(read.event("e", "waiting"), "ts"), 4e6);
  EXPECT_TRUE(read.events("b", "prompt").empty());
  EXPECT_TRUE(read.events("b", "tokens").empty());
}

TEST(StepTrace, ParsesWithoutRecordsAndWithImpossibleOnes) {
  const TempFolder folder;
  StepTrace empty(folder.path("empty.json"));
  empty.finish();
  EXPECT_EQ(Trace(folder.path("empty.json")).events("M", "process_name").size(), 1u);

  StepTrace trace(folder.path("t.json"));
  trace.add(StepRecord{.start_seconds = std::numeric_limits<double>::quiet_NaN(),
                       .seconds = -1,
                       .plan_seconds = std::numeric_limits<double>::infinity()});
  trace.finish();
  expect_times(Trace(folder.path("t.json")).event("X", "step"), {0, 0});
}

TEST(StepTrace, TimesAreExactToTheNanosecond) {
  const TempFolder folder;
  StepTrace trace(folder.path("t.json"));
  for (const double start : {1e-9, 1.2e-8, 1.23e-7, 86400.000001005}) {
    trace.add(StepRecord{.start_seconds = start, .seconds = 1e-9});
  }
  trace.finish();
  const auto steps = Trace(folder.path("t.json")).events("X", "step");
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_EQ(Trace::number(steps[0], "ts"), 0.001);
  EXPECT_EQ(Trace::number(steps[1], "ts"), 0.012);
  EXPECT_EQ(Trace::number(steps[2], "ts"), 0.123);
  EXPECT_EQ(Trace::number(steps[3], "ts"), 86400000001.005);
}

TEST(StepTrace, IsNoLongerThanItMayBe) {
  const TempFolder folder;
  StepTrace trace(folder.path("t.json"), 10'000);
  for (int i = 0; i < 100; ++i) trace.add(example_step());
  EXPECT_GT(trace.dropped(), 50);
  trace.finish();
  const Trace read(folder.path("t.json"));
  EXPECT_LT(read.size(), 10'500u);
  EXPECT_EQ(std::ssize(read.events("X", "step")), 100 - read.dropped());
}

/// Calls finish and expects it to fail for what could not be written.
void expect_failure(StepTrace& trace) {
  try {
    trace.finish();
    ADD_FAILURE() << "nothing was said";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
  }
}

TEST(StepTrace, WhatCannotBeWrittenIsSaidAtTheEnd) {
  EXPECT_THROW(StepTrace("/nonexistent-folder/t.json"), Error);
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  StepTrace trace("/dev/full");
  for (int i = 0; i < 1000; ++i) trace.add(example_step());
  EXPECT_GT(trace.dropped(), 0);
  expect_failure(trace);
}

TEST(StepTrace, WhatIsLackingInTheMiddleIsSaidTooIfTheRestCouldBeWritten) {
  const TempFolder folder;
  StepTrace trace(folder.path("t.json"));
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small{.rlim_cur = 100'000, .rlim_max = limit.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  for (int i = 0; i < 1000; ++i) trace.add(example_step());
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_GT(trace.dropped(), 0);
  expect_failure(trace);
  EXPECT_FALSE(std::filesystem::exists(folder.path("t.json")));
}

TEST(StepTrace, WithoutAnEndThereIsNoFile) {
  const TempFolder folder;
  { StepTrace(folder.path("t.json")).add(example_step()); }
  EXPECT_TRUE(Directory(folder.path()).list().empty());
}

}  // namespace
}  // namespace ingot
