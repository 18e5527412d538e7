// generate_all: many requests as one batch, with callbacks in the calling thread.
#include <thread>

#include "api/api_test_util.h"

namespace ingot::api {
namespace {

class GenerateAllTest : public testing::TestWithParam<bool> {
 protected:
  GenerateAllTest() {
    options_.threadless = GetParam();
    for (const char* text : {"the he", "in an", "or it is", "w", "and the end of all"}) {
      requests_.push_back(text_request(text, 30));
      requests_.back().sampling.temperature = 0.9f;
      requests_.back().sampling.seed = requests_.size();
    }
  }

  OpenOptions options_ = tiny_options();
  std::vector<Request> requests_;
  Engine judge_{tiny_options()};
};

INSTANTIATE_TEST_SUITE_P(, GenerateAllTest, testing::Bool(), [](const auto& threadless) {
  return threadless.param ? "WithoutThread" : "WithThread";
});

/// Also with fewer places than requests: the rest follows as others end.
TEST_P(GenerateAllTest, EachRequestIsWhatItIsAlone) {
  for (const bool is_narrow : {false, true}) {
    options_.sequences = is_narrow ? 1 : 8;
    options_.waiting_max = is_narrow ? 1 : 1024;
    Engine engine(options_);
    const auto caller = std::this_thread::get_id();
    std::vector<Result> seen(requests_.size());
    std::vector<int> ends(requests_.size());
    BatchCallbacks callbacks;
    callbacks.delta = [&](std::size_t i, const Delta& delta) {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      EXPECT_EQ(ends[i], 0);
      seen[i].ids.insert(seen[i].ids.end(), delta.ids.begin(), delta.ids.end());
      return true;
    };
    callbacks.end = [&](std::size_t i, const Ending& ending) {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      EXPECT_EQ(ending.result.ids, seen[i].ids);
      ++ends[i];
    };
    const std::vector<Ending> endings = engine.generate_all(requests_, callbacks);
    ASSERT_EQ(endings.size(), requests_.size());
    for (std::size_t i = 0; i < endings.size(); ++i) {
      EXPECT_FALSE(endings[i].error.has_value());
      EXPECT_EQ(ends[i], 1);
      EXPECT_EQ(describe(endings[i].result), describe(judge_.generate(requests_[i]))) << i;
    }
  }
}

TEST_P(GenerateAllTest, AnErrorOfOneEndsNoOther) {
  Engine engine(options_);
  requests_[1].prompt.text.reset();
  requests_[3].sampling.top_p = 2;
  requests_[4].deadline_seconds = 1e-9;
  const std::vector<Ending> endings = engine.generate_all(requests_);
  const auto said = [&](std::size_t i) {
    return endings[i].error ? code(endings[i].error->code()) + endings[i].error->what() : "none";
  };
  EXPECT_EQ(said(0), "none");
  EXPECT_EQ(said(1), code(ErrorCode::kInvalid) + "prompt: it has no tokens");
  EXPECT_EQ(said(2), "none");
  EXPECT_EQ(said(3).substr(0, 7), code(ErrorCode::kInvalid) + "top_p");
  EXPECT_EQ(said(4).substr(0, 13), code(ErrorCode::kBusy) + "deadline_ms");
  EXPECT_EQ(describe(endings[0].result), describe(judge_.generate(requests_[0])));
  EXPECT_EQ(describe(endings[2].result), describe(judge_.generate(requests_[2])));
  EXPECT_TRUE(engine.generate_all({}).empty());
}

TEST_P(GenerateAllTest, ACallbackEndsItsRequestAlone) {
  Engine engine(options_);
  int deltas = 0;
  const std::vector<Ending> endings = engine.generate_all(
      requests_, {.delta = [&](std::size_t i, const Delta&) { return i != 2 || ++deltas < 3; }});
  const Result whole = judge_.generate(requests_[2]);
  EXPECT_EQ(endings[2].result.finish, FinishReason::kCancelled);
  EXPECT_EQ(endings[2].result.ids,
            std::vector<std::int32_t>(whole.ids.begin(), whole.ids.begin() + 3));
  EXPECT_EQ(describe(endings[4].result), describe(judge_.generate(requests_[4])));
}

TEST_P(GenerateAllTest, WhatACallbackThrowsComesOutAndTheEngineGoesOn) {
  Engine engine(options_);
  EXPECT_THROW(engine.generate_all(requests_, {.end = [](std::size_t, const Ending&) { throw 7; }}),
               int);
  EXPECT_EQ(describe(engine.generate(requests_[0])), describe(judge_.generate(requests_[0])));
}

TEST_P(GenerateAllTest, LiveSequencesGoTogether) {
  Engine engine(options_);
  std::vector<LiveSequence> lives;
  for (int i = 0; i < 3; ++i) lives.push_back(engine.open_sequence());
  std::vector<std::vector<std::int32_t>> rows(3);
  for (int turn = 0; turn < 3; ++turn) {
    std::vector<Request> requests;
    for (std::size_t i = 0; i < 3; ++i) {
      requests.push_back(text_request(turn == 0 ? "the he" : "nd", 5 + std::int64_t(i)));
      requests.back().prompt.sequence = &lives[i];
    }
    const std::vector<Ending> endings = engine.generate_all(requests);
    for (std::size_t i = 0; i < 3; ++i) {
      const Result& result = endings[i].result;
      rows[i].insert(rows[i].end(), result.prompt_ids.begin(), result.prompt_ids.end());
      Request whole = text_request("", 5 + std::int64_t(i));
      whole.prompt = {.ids = rows[i]};
      EXPECT_EQ(result.digest, judge_.generate(whole).digest) << turn << " " << i;
      rows[i].insert(rows[i].end(), result.ids.begin(), result.ids.end());
    }
  }
}

TEST(GenerateAll, SaysWhenPausedStreamsHoldAllPlaces) {
  OpenOptions options = tiny_options();
  options.threadless = true;
  options.sequences = 1;
  options.waiting_max = 1;
  options.deltas_max = 1;
  Engine engine(options);
  std::vector<Stream> paused;
  for (const char* text : {"the he", "in an"}) {
    paused.push_back(engine.submit(text_request(text)));
    engine.step();
  }
  const Request request = text_request("w");
  const auto endings = engine.generate_all({&request, 1});
  ASSERT_TRUE(endings[0].error.has_value());
  EXPECT_EQ(endings[0].error->code(), ErrorCode::kBusy);
}

}  // namespace
}  // namespace ingot::api
