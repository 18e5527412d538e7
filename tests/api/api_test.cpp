// The public API: requests side by side, stopping, steps by hand, and what is refused.
#include <cfenv>
#include <thread>

#include "api/api_test_util.h"

namespace ingot::api {
namespace {

class ApiTest : public testing::Test {
 protected:
  std::string alone(const Request& request) {
    return describe(Engine(tiny_options()).generate(request));
  }
  Engine engine_{tiny_options()};
};

TEST_F(ApiTest, SaysWhatWasOpened) {
  const ModelInfo& info = engine_.info();
  EXPECT_EQ(info.path, INGOT_TINY_MODEL);
  EXPECT_EQ(info.architecture, "llama");
  EXPECT_EQ(info.vocab, 320);
  EXPECT_EQ(info.hidden, 64);
  EXPECT_EQ(info.layers, 2);
  EXPECT_EQ(info.context, 128);
  EXPECT_TRUE(info.has_tokenizer);
  EXPECT_FALSE(info.isa.empty());
  EXPECT_TRUE(info.warnings.empty());
  OpenOptions options = tiny_options();
  options.context = 0;
  EXPECT_EQ(Engine(options).info().context, 256);
  options.context = 300;
  ASSERT_EQ(Engine(options).info().warnings.size(), 1u);
}

TEST_F(ApiTest, TextBecomesIdsAndBack) {
  const auto ids = engine_.encode("the hen");
  EXPECT_EQ(ids[0], 1);
  EXPECT_EQ(engine_.decode(ids), "the hen");
  EXPECT_EQ(engine_.encode("the hen", {.add_special = false}),
            (std::vector<std::int32_t>(ids.begin() + 1, ids.end())));
  EXPECT_NE(engine_.encode("</s>", {.add_special = false}), std::vector<std::int32_t>{2});
  EXPECT_EQ(engine_.encode("</s>", {.add_special = false, .parse_special = true}),
            std::vector<std::int32_t>{2});
}

TEST_F(ApiTest, AnEmptyTextIsAPromptWithItsFrameAndNoTextIsNone) {
  EXPECT_EQ(engine_.generate(text_request("", 1)).prompt_ids, std::vector<std::int32_t>{1});
  Request bare = text_request("", 1);
  bare.prompt.encode.add_special = false;
  const std::string none = code(ErrorCode::kInvalid) + "prompt: it has no tokens";
  EXPECT_EQ(error_of([&] { engine_.submit(bare); }), none);
  Request absent = text_request("", 1);
  absent.prompt.text.reset();
  EXPECT_EQ(error_of([&] { engine_.submit(absent); }), none);
}

TEST_F(ApiTest, APromptThatBeginsWithBosGetsNoSecondOne) {
  Request request = text_request("<s>the hen", 1);
  request.prompt.encode.parse_special = true;
  EXPECT_EQ(engine_.generate(request).prompt_ids, engine_.encode("the hen"));
}

TEST_F(ApiTest, TextAfterEmbeddingsHasNoBeginning) {
  Request request = text_request("the hen", 1);
  request.prompt.embeddings.assign(64, 0.5f);
  EXPECT_EQ(engine_.generate(request).prompt_ids,
            engine_.encode("the hen", {.add_special = false}));
}

TEST_F(ApiTest, TheCallbackSeesEveryPieceAndItsThreadIsTheCallers) {
  const auto caller = std::this_thread::get_id();
  Result seen;
  const Result result = engine_.generate(text_request("the he"), [&](const Delta& delta) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    seen.ids.insert(seen.ids.end(), delta.ids.begin(), delta.ids.end());
    seen.text += delta.text;
    return true;
  });
  EXPECT_EQ(result.ids.size(), 24u);
  EXPECT_EQ(seen.ids, result.ids);
  EXPECT_EQ(seen.text, result.text);
  EXPECT_EQ(result.finish, FinishReason::kLength);
  EXPECT_GT(result.prefill_seconds, 0);
  EXPECT_GT(result.decode_seconds, 0);
  EXPECT_EQ(describe(result), alone(text_request("the he")));
}

TEST_F(ApiTest, ACallbackStopsAfterWhatItHasSeen) {
  const Result whole = engine_.generate(text_request("the he"));
  for (const std::size_t pieces : {std::size_t{1}, std::size_t{5}, std::size_t{24}}) {
    std::size_t count = 0;
    const Result cut =
        engine_.generate(text_request("the he"), [&](const Delta&) { return ++count < pieces; });
    EXPECT_EQ(cut.finish, FinishReason::kCancelled);
    EXPECT_EQ(cut.ids, std::vector<std::int32_t>(whole.ids.begin(),
                                                 whole.ids.begin() + static_cast<int>(pieces)));
    EXPECT_EQ(cut.text, whole.text.substr(0, cut.text.size()));
    EXPECT_EQ(cut.digest, "");
  }
  EXPECT_EQ(describe(engine_.generate(text_request("the he"))), describe(whole));
}

TEST_F(ApiTest, WhatACallbackThrowsComesOutAndTheEngineGoesOn) {
  EXPECT_THROW(engine_.generate(text_request("the he"), [](const Delta&) -> bool { throw 7; }),
               int);
  EXPECT_EQ(describe(engine_.generate(text_request("a"))), alone(text_request("a")));
}

TEST_F(ApiTest, RequestsAddedOnTheWayAreEachAsAlone) {
  std::vector<Request> requests;
  for (const char* text : {"the he", "in an", "or it is", "w", "and the end of all"}) {
    requests.push_back(text_request(text, 60));
    requests.back().sampling.temperature = 0.9f;
    requests.back().sampling.seed = requests.size();
  }
  std::vector<Stream> streams;
  const Result first = engine_.generate(requests[0], [&](const Delta&) {
    if (streams.size() + 1 < requests.size()) {
      streams.push_back(engine_.submit(requests[streams.size() + 1]));
    }
    return true;
  });
  EXPECT_EQ(describe(first), alone(requests[0]));
  ASSERT_EQ(streams.size(), 4u);
  for (std::size_t i = 0; i < streams.size(); ++i) {
    EXPECT_EQ(describe(streams[i].result()), alone(requests[i + 1])) << i;
  }
}

TEST_F(ApiTest, AStreamIsReadPieceByPieceAndItsResultIsTakenOnce) {
  Stream stream = engine_.submit(text_request("the he"));
  Result seen;
  while (const auto delta = stream.next()) {
    seen.ids.insert(seen.ids.end(), delta->ids.begin(), delta->ids.end());
  }
  EXPECT_TRUE(stream.finished());
  const Result result = stream.result();
  EXPECT_EQ(result.ids, seen.ids);
  EXPECT_EQ(describe(result), alone(text_request("the he")));
  EXPECT_EQ(error_of([&] { stream.result(); }),
            code(ErrorCode::kInvalid) + "result: it was taken before");
}

TEST_F(ApiTest, StreamsOutliveTheEngineAndEndCancelled) {
  OpenOptions options = tiny_options();
  for (const bool threadless : {false, true}) {
    options.threadless = threadless;
    options.sequences = 1;
    options.deltas_max = 4;  // no stream is read, so no request ends
    std::vector<Stream> streams;
    {
      Engine engine(options);
      for (int i = 0; i < 5; ++i) {
        streams.push_back(engine.submit(text_request("the he", 100)));
        if (i != 3) streams.back().cancel();
      }
      Engine moved = std::move(engine);
    }
    for (Stream& stream : streams) EXPECT_EQ(stream.result().finish, FinishReason::kCancelled);
  }
}

TEST_F(ApiTest, AThreadlessEngineMovesInsideItsCallsOnly) {
  OpenOptions options = tiny_options();
  options.threadless = true;
  Engine engine(options);
  EXPECT_FALSE(engine.step());
  Stream one = engine.submit(text_request("the he", 12));
  Stream two = engine.submit(text_request("in an", 20));
  EXPECT_FALSE(one.try_next().has_value());
  int steps = 0;
  while (engine.step()) ++steps;
  EXPECT_EQ(steps, 19);  // both prompts in one step, then a token of each
  EXPECT_TRUE(one.try_next().has_value());
  EXPECT_EQ(describe(one.result()), alone(text_request("the he", 12)));
  EXPECT_EQ(describe(two.result()), alone(text_request("in an", 20)));

  Stream left = engine.submit(text_request("w", 30));
  EXPECT_EQ(describe(engine.generate(text_request("the he"))), alone(text_request("the he")));
  EXPECT_EQ(engine.hidden_states({.text = "in"}).values,
            engine_.hidden_states({.text = "in"}).values);
  EXPECT_EQ(describe(left.result()), alone(text_request("w", 30)));
  EXPECT_EQ(error_of([&] { engine_.step(); }).substr(0, 2), code(ErrorCode::kInvalid));
}

/// Asked of the arithmetic itself: fegetround does not see what SSE does.
bool rounds_up() {
  const volatile float one = 1, little = 1e-10f;
  return one + little > 1;
}

/// A caller may set another rounding mode: it keeps its mode, and the results do not change.
TEST_F(ApiTest, TheCallersFloatingPointEnvironmentStaysItsOwn) {
  OpenOptions options = tiny_options();
  options.threadless = true;
  Request request = text_request("the he", 60);
  request.sampling = {
      .temperature = 1.3f, .top_p = 0.9f, .typical_p = 0.9f, .presence_penalty = 0.7f};
  request.logprobs = 3;
  request.prompt_logprobs = 3;
  const std::string expected = alone(request);
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  Engine engine(options);
  const bool after_open = rounds_up();
  const std::string got = describe(engine.generate(request));
  const bool after_steps = rounds_up();
  std::fesetround(FE_TONEAREST);
  EXPECT_TRUE(after_open);
  EXPECT_TRUE(after_steps);
  EXPECT_EQ(got, expected);
}

TEST_F(ApiTest, TooManyThatWaitAreToldSo) {
  OpenOptions options = tiny_options();
  options.threadless = true;
  options.sequences = 1;
  options.waiting_max = 1;
  options.step_rows = 512;
  Engine engine(options);
  Stream first = engine.submit(text_request("the he"));
  Stream second = engine.submit(text_request("in an"));
  EXPECT_EQ(error_of([&] { engine.submit(text_request("w")); }).substr(0, 2),
            code(ErrorCode::kBusy));
  EXPECT_EQ(describe(first.result()), alone(text_request("the he")));
  EXPECT_EQ(describe(engine.submit(text_request("w")).result()), alone(text_request("w")));
}

/// Two paused requests are as many as may be, until one of them goes; they do not keep the third
/// from running.
TEST_F(ApiTest, PausedRequestsGiveWayToOthers) {
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
  EXPECT_EQ(error_of([&] { engine.submit(text_request("w")); }).substr(0, 2),
            code(ErrorCode::kBusy));
  EXPECT_EQ(describe(paused[1].result()), alone(text_request("in an")));
  Stream third = engine.submit(text_request("w"));
  EXPECT_EQ(describe(third.result()), alone(text_request("w")));
  EXPECT_EQ(describe(paused[0].result()), alone(text_request("the he")));
}

TEST_F(ApiTest, ChoicesOfOnePromptAreWhatTheyAreAlone) {
  OpenOptions options = tiny_options();
  options.threadless = true;
  Engine engine(options);
  Request request = text_request("the he in an the he in an");
  request.sampling.temperature = 1;
  std::vector<Stream> streams = engine.submit_choices(request, 3);
  ASSERT_EQ(streams.size(), 3u);
  for (Stream& stream : streams) {
    const Result result = stream.result();
    EXPECT_EQ(describe(result), alone(request));
    if (&stream != &streams[0]) {
      EXPECT_EQ(result.cached_tokens, std::ssize(result.prompt_ids) - 1);
    }
    ++request.sampling.choice;
  }
  EXPECT_EQ(error_of([&] { engine.submit_choices(request, 129); }).substr(0, 6),
            code(ErrorCode::kInvalid) + "n: 1");
}

TEST_F(ApiTest, WhatWasComputedIsTakenOverWithinADomain) {
  OpenOptions options = tiny_options();
  options.threadless = true;
  Request request = text_request("");
  request.prompt.ids.assign(40, 263);
  request.prompt.text.reset();
  for (const bool kept : {true, false}) {
    options.prefix_cache = kept;
    Engine engine(options);
    EXPECT_EQ(engine.generate(request).cached_tokens, 0);
    EXPECT_EQ(engine.generate(request).cached_tokens, kept ? 32 : 0);
    request.domain = 7;
    EXPECT_EQ(engine.generate(request).cached_tokens, 0);
    request.domain = 0;
  }
}

TEST_F(ApiTest, RequestsThatCannotBeInTimeAreRefused) {
  OpenOptions options = tiny_options();
  options.threadless = true;
  options.by_priority = true;
  Engine engine(options);
  Request request = text_request("the he");
  request.priority = -3;
  request.tenant = 9;
  request.deadline_seconds = request.max_ttft_seconds = 1e6;
  EXPECT_EQ(describe(engine.generate(request)), alone(text_request("the he")));
  const auto refused = [&](auto change) {
    Request late = text_request("the he");
    change(late);
    return error_of([&] { engine.generate(late); });
  };
  EXPECT_EQ(refused([](Request& r) { r.deadline_seconds = 1e-9; }).substr(0, 13),
            code(ErrorCode::kBusy) + "deadline_ms");
  EXPECT_EQ(refused([](Request& r) { r.max_ttft_seconds = 1e-9; }).substr(0, 13),
            code(ErrorCode::kBusy) + "max_ttft_ms");
  EXPECT_EQ(refused([](Request& r) { r.deadline_seconds = -1; }).substr(0, 18),
            code(ErrorCode::kInvalid) + "deadline_seconds");
}

TEST_F(ApiTest, DraftsChangeNoResultAndAreCounted) {
  for (const char* draft : {"lookup", INGOT_TINY_MODEL}) {
    OpenOptions options = tiny_options();
    options.draft = draft;
    options.draft_tokens = 4;
    Engine engine(options);
    Request request = text_request("the he the he the he", 60);
    request.ignore_eos = true;
    request.logprobs = 1;
    for (const float temperature : {0.0f, 0.8f}) {
      request.sampling.temperature = temperature;
      request.speculation = {};
      const Result plain = engine_.generate(request);
      EXPECT_EQ(plain.drafted, 0);
      const Result drafted = engine.generate(request);
      EXPECT_EQ(describe(drafted), describe(plain)) << draft;
      EXPECT_GE(drafted.drafted, drafted.accepted);
      EXPECT_TRUE(drafted.accepted > 0 || temperature > 0) << draft;
      request.speculation.mode = SpeculationMode::kOff;
      EXPECT_EQ(engine.generate(request).drafted, 0);
    }
    request.speculation = {.mode = SpeculationMode::kDraft, .tokens = 2};
    if (options.draft == "lookup") {
      EXPECT_NE(error_of([&] { engine.generate(request); }).find("no draft model"),
                std::string::npos);
    } else {
      EXPECT_GT(engine.generate(request).accepted, 0);
    }
  }
}

TEST_F(ApiTest, OptionsThatCannotBeAreRefusedByName) {
  const auto refused = [](auto change) {
    OpenOptions options = tiny_options();
    change(options);
    return error_of([&] { Engine engine(options); });
  };
  const std::string invalid = code(ErrorCode::kInvalid);
  const auto says = [&](std::string_view start, auto change) {
    EXPECT_EQ(refused(change).substr(0, start.size()), start);
  };
  says("none", [](OpenOptions&) {});
  says(invalid + "threads: -1", [](OpenOptions& o) { o.threads = -1; });
  says(invalid + "sequences: 0", [](OpenOptions& o) { o.sequences = 0; });
  says(invalid + "step_rows: 7 is not in [8,", [](OpenOptions& o) { o.step_rows = 7; });
  says(invalid + "context: -1", [](OpenOptions& o) { o.context = -1; });
  says(invalid + "memory_limit: -1", [](OpenOptions& o) { o.memory_limit = -1; });
  says(invalid + "waiting_max: 0", [](OpenOptions& o) { o.waiting_max = 0; });
  says(invalid + "draft_tokens: 33", [](OpenOptions& o) { o.draft_tokens = 33; });
  says(code(ErrorCode::kModel) + "nowhere.gguf: ",
       [](OpenOptions& o) { o.draft = "nowhere.gguf"; });
  says(invalid + "deltas_max: 0", [](OpenOptions& o) { o.deltas_max = 0; });
  says(invalid + "target_itl_seconds: -1", [](OpenOptions& o) { o.target_itl_seconds = -1; });
  says(invalid + "stall_seconds: -1", [](OpenOptions& o) { o.stall_seconds = -1; });
  says(invalid + "kv_type: 9", [](OpenOptions& o) { o.kv_type = static_cast<KvType>(9); });
  says(invalid + "weights: 9", [](OpenOptions& o) { o.weights = static_cast<Weights>(9); });
  says(invalid + "`isa` abacus is unknown", [](OpenOptions& o) { o.isa = "abacus"; });
  says(invalid + "loading was cancelled",
       [](OpenOptions& o) { o.progress = [](auto, auto) { return false; }; });
  says(code(ErrorCode::kModel) + "nowhere.gguf: ", [](OpenOptions& o) { o.path = "nowhere.gguf"; });
  says(code(ErrorCode::kDoesNotFit), [](OpenOptions& o) { o.memory_limit = 1000; });
}

TEST_F(ApiTest, ProgressComesToTheEnd) {
  OpenOptions options = tiny_options();
  std::uint64_t last = 0, all = 1;
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    EXPECT_GE(done, last);
    last = done;
    all = total;
    return true;
  };
  Engine engine(options);
  EXPECT_EQ(last, all);
}

TEST_F(ApiTest, RequestsThatCannotBeAreRefusedByName) {
  const auto says = [&](std::string_view start, auto change) {
    Request request = text_request("the he");
    change(request);
    const std::string expected = code(ErrorCode::kInvalid) + std::string(start);
    EXPECT_EQ(error_of([&] { engine_.submit(request); }).substr(0, expected.size()), expected);
  };
  says("prompt: it has both", [](Request& r) { r.prompt.ids = {1}; });
  says("prompt: it has no", [](Request& r) { r.prompt = {}; });
  says("prompt_ids[1] is token 320", [](Request& r) { r.prompt = {.ids = {1, 320}}; });
  says("prompt: it has 129",
       [](Request& r) { r.prompt = {.ids = std::vector<std::int32_t>(129, 1)}; });
  says("embeddings: 63 values", [](Request& r) { r.prompt.embeddings.resize(63); });
  says("embeddings: 65 values", [](Request& r) { r.prompt.embeddings.resize(65); });
  says("continued: 9 is not in [0, ", [](Request& r) { r.continued = 9; });
  says("max_tokens", [](Request& r) { r.max_tokens = -1; });
  says("top_p", [](Request& r) { r.sampling.top_p = 2; });
  says("logit_bias", [](Request& r) { r.sampling.logit_bias = {{3, 1}, {2, 1}, {3, 1}}; });
  says("stop[1] has 0 bytes", [](Request& r) { r.stop = {"a", ""}; });
  says("stop[0] is not valid UTF-8", [](Request& r) { r.stop = {"\xff"}; });
  says("stop_token_ids[0] is token 320", [](Request& r) { r.stop_token_ids = {320}; });
  says("prompt_logprobs: 21", [](Request& r) { r.prompt_logprobs = 21; });
  says("speculation.mode is lookup, but the model was started without drafts",
       [](Request& r) { r.speculation.mode = SpeculationMode::kLookup; });
  says("speculation.mode is draft, but",
       [](Request& r) { r.speculation.mode = SpeculationMode::kDraft; });
  says("speculation.mode: 9",
       [](Request& r) { r.speculation.mode = static_cast<SpeculationMode>(9); });
  says("speculation.tokens is 33", [](Request& r) { r.speculation.tokens = 33; });
  says("speculation.tokens is -2", [](Request& r) { r.speculation.tokens = -2; });
  EXPECT_EQ(error_of([&] { engine_.hidden_states({.ids = {-1}}); }).substr(0, 13),
            code(ErrorCode::kInvalid) + "prompt_ids[");
}

}  // namespace
}  // namespace ingot::api
