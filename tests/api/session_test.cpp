// Sessions through the public API, and readers that stall.
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <tuple>

#include "api/api_test_util.h"
#include "ingot/ingot.c.h"

namespace ingot::api {
namespace {

OpenOptions session_options() {
  OpenOptions options = tiny_options();
  options.sessions = true;
  return options;
}

/// Draws with everything that depends on what was drawn before.
Request drawing_request(std::int64_t tokens) {
  Request request = text_request("the hen and the egg in the morning", tokens);
  request.sampling = {.temperature = 1.2f,
                      .top_k = 90,
                      .top_p = 0.95f,
                      .min_p = 0.001f,
                      .typical_p = 0.99f,
                      .repetition_penalty = 1.2f,
                      .presence_penalty = 0.4f,
                      .frequency_penalty = 0.3f,
                      .logit_bias = {{290, 1}, {274, -1}},
                      .dry_multiplier = 0.5f,
                      .dry_sequence_breakers = {"e"},
                      .bad_words = {"zz"},
                      .top_n_sigma = 4,
                      .xtc_probability = 0.25f,
                      .seed = 11,
                      .choice = 2};
  request.min_tokens = 30;
  request.stop = {"no text has this", "nor this"};
  request.stop_token_ids = {300, 301};
  request.ignore_eos = true;
  request.domain = 3;
  return request;
}

class SessionTest : public testing::Test {
 protected:
  SessionTest() {
    folder_ = std::filesystem::path(testing::TempDir()) / cat("api_session_", ::getpid());
    std::filesystem::create_directories(folder_);
  }
  ~SessionTest() override { std::filesystem::remove_all(folder_); }

  std::string path(std::string_view name = "session") const { return folder_ / name; }
  /// Saves a request of 20 tokens after its end.
  Result save(Engine& engine) {
    Result result = engine.generate(drawing_request(20));
    EXPECT_EQ(engine.save_session(path(), drawing_request(20), result) % 16, 0);
    return result;
  }

  std::filesystem::path folder_;
  Engine engine_{session_options()};
};

TEST_F(SessionTest, AnotherEngineGoesOnAsIfItHadNotStopped) {
  const Result whole = engine_.generate(drawing_request(50));
  const Result first = save(engine_);
  for (const bool threadless : {false, true}) {
    OpenOptions options = session_options();
    options.threadless = threadless;
    Engine other(options);
    Session session = other.restore_session(path(), 3);
    EXPECT_EQ(session.request.continued, 20);
    EXPECT_GE(session.restored_tokens, 32);
    session.request.max_tokens = 30;
    const Result rest = other.generate(session.request);
    EXPECT_EQ(rest.cached_tokens, session.restored_tokens);
    std::vector<std::int32_t> ids = first.ids;
    ids.insert(ids.end(), rest.ids.begin(), rest.ids.end());
    EXPECT_EQ(ids, whole.ids);
  }
}

TEST_F(SessionTest, EveryMemberThatDrawsComesBack) {
  save(engine_);
  const Request saved = drawing_request(20);
  const Request r = engine_.restore_session(path(), 7).request;
  const Sampling &s = r.sampling, &t = saved.sampling;
  EXPECT_EQ(std::tie(s.temperature, s.top_k, s.top_p, s.min_p, s.typical_p, s.repetition_penalty),
            std::tie(t.temperature, t.top_k, t.top_p, t.min_p, t.typical_p, t.repetition_penalty));
  EXPECT_EQ(std::tie(s.presence_penalty, s.frequency_penalty, s.seed, s.choice),
            std::tie(t.presence_penalty, t.frequency_penalty, t.seed, t.choice));
  ASSERT_EQ(s.logit_bias.size(), 2u);
  EXPECT_EQ(s.logit_bias[0].id, 274) << "by id";
  EXPECT_EQ(s.logit_bias[0].bias, -1);
  EXPECT_EQ(std::tie(s.dry_multiplier, s.dry_sequence_breakers, s.bad_words, s.top_n_sigma),
            std::tie(t.dry_multiplier, t.dry_sequence_breakers, t.bad_words, t.top_n_sigma));
  EXPECT_EQ(std::tie(s.xtc_probability, s.allowed_token_ids),
            std::tie(t.xtc_probability, t.allowed_token_ids));
  EXPECT_EQ(std::tie(r.min_tokens, r.stop, r.stop_token_ids, r.ignore_eos),
            std::tie(saved.min_tokens, saved.stop, saved.stop_token_ids, saved.ignore_eos));
  EXPECT_EQ(r.domain, 7u);
}

TEST_F(SessionTest, KeysAreOfTheDomainThatWasAskedFor) {
  save(engine_);
  Engine other(session_options());
  Session session = other.restore_session(path(), 5);
  session.request.max_tokens = 1;
  session.request.domain = 6;
  EXPECT_EQ(other.generate(session.request).cached_tokens, 0);
  session.request.domain = 5;
  EXPECT_EQ(other.generate(session.request).cached_tokens, session.restored_tokens);
}

TEST_F(SessionTest, WhatCannotBeSavedIsRefused) {
  const Result result = save(engine_);
  const auto says = [&](Engine& engine, std::string_view file, std::string start, auto change) {
    Request request = drawing_request(20);
    change(request);
    const std::string error = error_of([&] { engine.save_session(path(file), request, result); });
    EXPECT_EQ(error.substr(0, start.size()), start);
  };
  const std::string invalid = code(ErrorCode::kInvalid);
  Engine without(tiny_options());
  says(without, "a", invalid + "sessions: ", [](Request&) {});
  says(engine_, "a", invalid + "prompt: a session has no embeddings",
       [](Request& r) { r.prompt.embeddings.resize(64); });
  says(engine_, "a", invalid + "top_p", [](Request& r) { r.sampling.top_p = 2; });
  says(engine_, "no folder/a", code(ErrorCode::kIo) + path("no folder/a"), [](Request&) {});
  EXPECT_FALSE(std::filesystem::exists(path("a")));
}

TEST_F(SessionTest, WhatCannotBeRestoredIsRefusedAndTheEngineGoesOn) {
  save(engine_);
  const auto error = [&](Engine& engine, std::string_view file = "session") {
    return error_of([&] { engine.restore_session(path(file)); });
  };
  const auto begins = [](const std::string& text, const std::string& start) {
    return text.substr(0, start.size()) == start;
  };
  const std::string refused = code(ErrorCode::kModel);
  Engine without(tiny_options());
  EXPECT_TRUE(begins(error(without), code(ErrorCode::kInvalid) + "sessions: "));
  EXPECT_TRUE(begins(error(engine_, "nothing"), refused + path("nothing")));
  OpenOptions options = session_options();
  options.kv_type = KvType::kInt8;
  Engine other(options);
  EXPECT_NE(error(other).find("its keys and values are F16, here they are INT8"), std::string::npos)
      << error(other);
  const auto bytes = std::filesystem::file_size(path());
  std::fstream(path(), std::ios::in | std::ios::out | std::ios::binary)
      .seekp(static_cast<std::streamoff>(bytes) - 100)
      .put('\x55');
  EXPECT_NE(error(engine_).find("damaged"), std::string::npos) << error(engine_);
  std::filesystem::resize_file(path(), bytes / 2);
  EXPECT_TRUE(begins(error(engine_), refused));
  EXPECT_EQ(engine_.generate(drawing_request(20)).ids.size(), 20u);
}

TEST_F(SessionTest, TheCApiGivesTheSame) {
  const Result result = engine_.generate(drawing_request(20));
  engine_.save_session(path(), drawing_request(20), result);
  ingot_open_options options = ingot_default_open_options();
  options.path = INGOT_TINY_MODEL;
  options.threads = 2;
  options.context = 128;
  options.sessions = true;
  ingot_engine* engine = nullptr;
  ASSERT_EQ(ingot_open(&options, &engine), INGOT_OK) << ingot_last_error();
  ingot_session* session = nullptr;
  ASSERT_EQ(ingot_restore_session(engine, path().c_str(), 3, &session), INGOT_OK)
      << ingot_last_error();
  session->request.max_tokens = 30;
  ingot_result* rest = nullptr;
  ASSERT_EQ(ingot_generate(engine, &session->request, nullptr, nullptr, &rest), INGOT_OK);
  EXPECT_EQ(rest->cached_tokens, session->restored_tokens);
  std::vector<std::int32_t> ids = result.ids;
  ids.insert(ids.end(), rest->ids, rest->ids + rest->id_count);
  EXPECT_EQ(ids, engine_.generate(drawing_request(50)).ids);
  // Saved from C the file is equal, except for the keys of the tokens drawn since.
  ASSERT_EQ(ingot_save_session(engine, path("c").c_str(), &session->request, rest, nullptr),
            INGOT_OK);
  const Request again = engine_.restore_session(path("c"), 3).request;
  EXPECT_EQ(again.continued, std::ssize(ids));
  EXPECT_EQ(again.sampling.logit_bias.size(), 2u);
  EXPECT_EQ(again.stop, drawing_request(1).stop);
  ingot_result_free(rest);
  ingot_session_free(session);
  ingot_close(engine);
}

/// The clock is the system's, so a reader may stall for longer, never for less.
TEST(StallTest, WhoTakesNothingIsGivenUp) {
  for (const double stall_seconds : {0.0, 0.01}) {
    OpenOptions options = tiny_options();
    options.threadless = true;
    options.deltas_max = 1;
    options.stall_seconds = stall_seconds;
    Engine engine(options);
    Stream stream = engine.submit(text_request("the he"));
    const auto patience = std::chrono::milliseconds(stall_seconds > 0 ? 60000 : 50);
    const auto end = std::chrono::steady_clock::now() + patience;
    bool more = true;
    while (more && std::chrono::steady_clock::now() < end) more = engine.step();
    EXPECT_EQ(more, stall_seconds == 0);
    EXPECT_EQ(stream.result().finish,
              stall_seconds > 0 ? FinishReason::kCancelled : FinishReason::kLength);
  }
}

}  // namespace
}  // namespace ingot::api
