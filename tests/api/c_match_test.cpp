// The C API against the C++ one.
#include "api/api_test_util.h"
#include "ingot/ingot.c.h"

namespace ingot::api {
namespace {

std::vector<TokenLogprobs> from(const ingot_token_logprobs* scores, std::size_t count) {
  std::vector<TokenLogprobs> list(count);
  for (std::size_t i = 0; i < count; ++i) {
    list[i].token = {.id = scores[i].token.id, .logprob = scores[i].token.logprob};
    for (std::size_t k = 0; k < scores[i].top_count; ++k) {
      list[i].top.push_back({.id = scores[i].top[k].id, .logprob = scores[i].top[k].logprob});
    }
  }
  return list;
}

Result from(const ingot_result& r) {
  return {.prompt_ids = {r.prompt_ids, r.prompt_ids + r.prompt_id_count},
          .ids = {r.ids, r.ids + r.id_count},
          .text = {r.text, r.text_bytes},
          .finish = static_cast<FinishReason>(r.finish),
          .logprobs = from(r.logprobs, r.logprobs == nullptr ? 0 : r.id_count),
          .prompt_logprobs = from(r.prompt_logprobs, r.prompt_logprob_count),
          .digest = r.digest,
          .cached_tokens = r.cached_tokens,
          .drafted = r.drafted,
          .accepted = r.accepted};
}

/// Requests in both spellings, between them with every member.
struct Case {
  void (*set)(Request& r);
  void (*set_c)(ingot_request& r);
};

const ingot_logit_bias kBias[] = {{300, 9}, {290, 8}};
const char* const kStop[] = {"t", "nd"};
const char* const kBad[] = {"o", "in"};
const std::int32_t kEnds[] = {2, 274, 290};

const Case kCases[] = {
    {[](Request&) {}, [](ingot_request&) {}},
    {[](Request& r) { r.sampling.temperature = 1; }, [](ingot_request& r) { r.temperature = 1; }},
    {[](Request& r) { r.sampling.top_k = 5; }, [](ingot_request& r) { r.top_k = 5; }},
    {[](Request& r) { r.sampling.top_p = 0.5f; }, [](ingot_request& r) { r.top_p = 0.5f; }},
    {[](Request& r) { r.sampling.min_p = 0.2f; }, [](ingot_request& r) { r.min_p = 0.2f; }},
    {[](Request& r) { r.sampling.typical_p = 0.3f; }, [](ingot_request& r) { r.typical_p = 0.3f; }},
    {[](Request& r) { r.sampling.repetition_penalty = 3; },
     [](ingot_request& r) { r.repetition_penalty = 3; }},
    {[](Request& r) { r.sampling.presence_penalty = 2; },
     [](ingot_request& r) { r.presence_penalty = 2; }},
    {[](Request& r) { r.sampling.frequency_penalty = 2; },
     [](ingot_request& r) { r.frequency_penalty = 2; }},
    {[](Request& r) {
       r.sampling.logit_bias = {{300, 9}, {290, 8}};
     },
     [](ingot_request& r) {
       r.logit_bias = kBias;
       r.logit_bias_count = 2;
     }},
    {[](Request& r) {
       r.sampling.top_k = 3;
       r.sampling.dry_multiplier = 3;
       r.sampling.dry_base = 2;
       r.sampling.dry_allowed_length = 1;
       r.sampling.dry_penalty_last_n = 9;
       r.sampling.dry_sequence_breakers = {"t", "nd"};
     },
     [](ingot_request& r) {
       r.top_k = 3;
       r.dry_multiplier = 3;
       r.dry_base = 2;
       r.dry_allowed_length = 1;
       r.dry_penalty_last_n = 9;
       r.dry_sequence_breakers = kStop;
       r.dry_sequence_breaker_count = 2;
     }},
    {[](Request& r) {
       r.sampling.top_k = 3;
       r.sampling.dry_multiplier = 3;
       r.sampling.dry_allowed_length = 1;
     },
     [](ingot_request& r) {
       r.top_k = 3;
       r.dry_multiplier = 3;
       r.dry_allowed_length = 1;
     }},
    {[](Request& r) {
       r.sampling.bad_words = {"o", "in"};
     },
     [](ingot_request& r) {
       r.bad_words = kBad;
       r.bad_word_count = 2;
     }},
    {[](Request& r) {
       r.sampling.allowed_token_ids = {2, 274, 290};
     },
     [](ingot_request& r) {
       r.allowed_token_ids = kEnds;
       r.allowed_token_count = 3;
     }},
    {[](Request& r) { r.sampling.top_n_sigma = 1; }, [](ingot_request& r) { r.top_n_sigma = 1; }},
    {[](Request& r) {
       r.sampling.mirostat = 2;
       r.sampling.mirostat_tau = 2;
       r.sampling.mirostat_eta = 0.5f;
     },
     [](ingot_request& r) {
       r.mirostat = 2;
       r.mirostat_tau = 2;
       r.mirostat_eta = 0.5f;
     }},
    {[](Request& r) {
       r.sampling.xtc_probability = 0.5f;
       r.sampling.xtc_threshold = 0.001f;
     },
     [](ingot_request& r) {
       r.xtc_probability = 0.5f;
       r.xtc_threshold = 0.001f;
     }},
    {[](Request& r) { r.sampling.seed = 4; }, [](ingot_request& r) { r.seed = 4; }},
    {[](Request& r) { r.sampling.choice = 4; }, [](ingot_request& r) { r.choice = 4; }},
    {[](Request& r) { r.continued = 2; }, [](ingot_request& r) { r.continued = 2; }},
    {[](Request& r) { r.max_tokens = 9; }, [](ingot_request& r) { r.max_tokens = 9; }},
    {[](Request& r) {
       r.stop = {"t", "nd"};
     },
     [](ingot_request& r) {
       r.stop = kStop;
       r.stop_count = 2;
     }},
    {[](Request& r) {
       r.stop_token_ids = {2, 274, 290};
       r.sampling.temperature = 0;
     },
     [](ingot_request& r) {
       r.stop_token_ids = kEnds;
       r.stop_token_count = 3;
       r.temperature = 0;
     }},
    {[](Request& r) {
       r.stop_token_ids = {2, 274, 290};
       r.min_tokens = 30;
       r.sampling.temperature = 0;
     },
     [](ingot_request& r) {
       r.stop_token_ids = kEnds;
       r.stop_token_count = 3;
       r.min_tokens = 30;
       r.temperature = 0;
     }},
    {[](Request& r) {
       r.sampling.logit_bias = {{2, 100}};
       r.ignore_eos = true;
     },
     [](ingot_request& r) {
       static const ingot_logit_bias bias{2, 100};
       r.logit_bias = &bias;
       r.logit_bias_count = 1;
       r.ignore_eos = true;
     }},
    {[](Request& r) { r.logprobs = 2; }, [](ingot_request& r) { r.logprobs = 2; }},
    {[](Request& r) { r.prompt_logprobs = 1; }, [](ingot_request& r) { r.prompt_logprobs = 1; }},
    {[](Request& r) { r.digest = false; }, [](ingot_request& r) { r.digest = false; }},
    {[](Request& r) { r.prompt.encode.add_special = false; },
     [](ingot_request& r) { r.prompt.add_special = false; }},
    {[](Request& r) { r.prompt.encode.parse_special = true; },
     [](ingot_request& r) { r.prompt.parse_special = true; }},
    {[](Request& r) {
       r.prompt = {.ids = {2, 274, 290}};
     },
     [](ingot_request& r) {
       r.prompt.text = nullptr;
       r.prompt.text_bytes = 0;
       r.prompt.ids = kEnds;
       r.prompt.id_count = 3;
     }},
    {[](Request& r) { r.prompt.embeddings.assign(64, 0.5f); },
     [](ingot_request& r) {
       static const std::vector<float> row(64, 0.5f);
       r.prompt.embeddings = row.data();
       r.prompt.embedding_values = row.size();
     }},
};

class CMatchTest : public testing::Test {
 protected:
  CMatchTest() {
    ingot_open_options options = ingot_default_open_options();
    options.path = INGOT_TINY_MODEL;
    options.context = 128;
    EXPECT_EQ(ingot_open(&options, &c_), INGOT_OK) << ingot_last_error();
  }
  ~CMatchTest() override { ingot_close(c_); }

  Engine engine_{tiny_options()};
  ingot_engine* c_ = nullptr;
};

TEST_F(CMatchTest, EveryMemberOfARequestArrives) {
  std::string unchanged;
  for (const Case& c : kCases) {
    Request request = text_request("the</s> he", 40);
    request.sampling.temperature = 2;
    c.set(request);
    const std::string expected = describe(engine_.generate(request));
    EXPECT_NE(expected, unchanged) << &c - kCases;
    if (unchanged.empty()) unchanged = expected;
    ingot_request r = ingot_default_request();
    r.prompt.text = "the</s> he";
    r.prompt.text_bytes = 10;
    r.temperature = 2;
    r.max_tokens = 40;
    r.digest = true;
    c.set_c(r);
    ingot_result* result = nullptr;
    ASSERT_EQ(ingot_generate(c_, &r, nullptr, nullptr, &result), INGOT_OK) << ingot_last_error();
    EXPECT_EQ(describe(from(*result)), expected) << &c - kCases;
    ingot_result_free(result);
  }
}

TEST_F(CMatchTest, DefaultsAreThoseOfTheCppApi) {
  const OpenOptions o;
  const ingot_open_options c = ingot_default_open_options();
  EXPECT_EQ(c.isa, o.isa);
  EXPECT_EQ(c.threads, o.threads);
  EXPECT_EQ(o.kv_type, std::nullopt);
  EXPECT_EQ(c.kv_type, INGOT_KV_AUTO);
  EXPECT_EQ(c.weights, static_cast<ingot_weights>(o.weights));
  EXPECT_EQ(c.context, o.context);
  EXPECT_EQ(c.sequences, o.sequences);
  EXPECT_EQ(c.step_rows, o.step_rows);
  EXPECT_EQ(c.memory_limit, o.memory_limit);
  EXPECT_EQ(c.check_tensors, o.check_tensors);
  EXPECT_EQ(c.embedding, o.embedding);
  EXPECT_EQ(c.head, o.head);
  EXPECT_EQ(c.pack_cache, nullptr);
  EXPECT_EQ(c.waiting_max, o.waiting_max);
  EXPECT_EQ(c.deltas_max, o.deltas_max);
  EXPECT_EQ(c.stall_seconds, o.stall_seconds);
  EXPECT_EQ(c.draft, nullptr);
  EXPECT_EQ(c.draft_tokens, o.draft_tokens);
  EXPECT_EQ(c.sessions, o.sessions);
  EXPECT_EQ(c.threadless, o.threadless);
  EXPECT_EQ(ingot_default_request().max_tokens, Request().max_tokens);
  const ingot_request r = ingot_default_request();
  EXPECT_EQ(r.speculation_mode, INGOT_SPECULATION_AUTO);
  EXPECT_EQ(r.speculation_tokens, Request().speculation.tokens);
  const std::vector<std::string> breakers(r.dry_sequence_breakers,
                                          r.dry_sequence_breakers + r.dry_sequence_breaker_count);
  EXPECT_EQ(breakers, Request().sampling.dry_sequence_breakers);
}

TEST_F(CMatchTest, EveryOptionArrives) {
  const auto says = [](std::string_view start, auto change) {
    ingot_open_options options = ingot_default_open_options();
    options.path = INGOT_TINY_MODEL;
    change(options);
    ingot_engine* engine = nullptr;
    EXPECT_NE(ingot_open(&options, &engine), INGOT_OK);
    EXPECT_EQ(std::string(ingot_last_error()).substr(0, start.size()), start);
  };
  says("threads: -1", [](ingot_open_options& o) { o.threads = -1; });
  says("`isa` abacus", [](ingot_open_options& o) { o.isa = "abacus"; });
  says("kv_type: 4", [](ingot_open_options& o) { o.kv_type = static_cast<ingot_kv_type>(4); });
  says("weights: 5", [](ingot_open_options& o) { o.weights = static_cast<ingot_weights>(5); });
  says("context: -1", [](ingot_open_options& o) { o.context = -1; });
  says("sequences: 0", [](ingot_open_options& o) { o.sequences = 0; });
  says("step_rows: 7", [](ingot_open_options& o) { o.step_rows = 7; });
  says("memory_limit: -1", [](ingot_open_options& o) { o.memory_limit = -1; });
  says("waiting_max: 0", [](ingot_open_options& o) { o.waiting_max = 0; });
  says("deltas_max: 0", [](ingot_open_options& o) { o.deltas_max = 0; });
  says("draft_tokens: -1", [](ingot_open_options& o) { o.draft_tokens = -1; });
  says("nowhere.gguf: ", [](ingot_open_options& o) { o.draft = "nowhere.gguf"; });
  says("stall_seconds: -1", [](ingot_open_options& o) { o.stall_seconds = -1; });
}

TEST_F(CMatchTest, DraftsArriveAndAreCounted) {
  ingot_open_options options = ingot_default_open_options();
  options.path = INGOT_TINY_MODEL;
  options.context = 128;
  options.draft = "lookup";
  ingot_engine* engine = nullptr;
  ASSERT_EQ(ingot_open(&options, &engine), INGOT_OK) << ingot_last_error();
  ingot_request request = ingot_default_request();
  request.prompt.text = "the he the he the he";
  request.prompt.text_bytes = 20;
  request.max_tokens = 60;
  request.ignore_eos = true;
  request.speculation_tokens = 4;
  for (const auto mode :
       {INGOT_SPECULATION_AUTO, INGOT_SPECULATION_LOOKUP, INGOT_SPECULATION_OFF}) {
    request.speculation_mode = mode;
    ingot_result* result = nullptr;
    ASSERT_EQ(ingot_generate(engine, &request, nullptr, nullptr, &result), INGOT_OK);
    EXPECT_EQ(result->drafted > 0, mode != INGOT_SPECULATION_OFF);
    EXPECT_EQ(result->accepted > 0, mode != INGOT_SPECULATION_OFF);
    ingot_result_free(result);
  }
  request.speculation_mode = INGOT_SPECULATION_DRAFT;
  ingot_result* result = nullptr;
  EXPECT_EQ(ingot_generate(engine, &request, nullptr, nullptr, &result), INGOT_INVALID);
  ingot_close(engine);
}

TEST_F(CMatchTest, ThePackCacheArrives) {
  ingot_open_options options = ingot_default_open_options();
  options.path = INGOT_TINY_MODEL;
  options.pack_cache = "/dev/null/no folder";
  ingot_engine* engine = nullptr;
  ASSERT_EQ(ingot_open(&options, &engine), INGOT_OK) << ingot_last_error();
  ASSERT_EQ(ingot_engine_info(engine).warnings, 1u);
  EXPECT_NE(std::string(ingot_warning(engine, 0)).find("packed weights are not kept"),
            std::string::npos);
  ingot_close(engine);
}

TEST_F(CMatchTest, HiddenStatesAndTokens) {
  const HiddenStates expected =
      engine_.hidden_states({.ids = {2, 274, 290}}, {.all_rows = true, .final_norm = false});
  ingot_prompt prompt = ingot_default_request().prompt;
  prompt.ids = kEnds;
  prompt.id_count = 3;
  float* values = nullptr;
  std::size_t rows = 0, cols = 0;
  ingot_hidden_options options = ingot_default_hidden_options();
  EXPECT_TRUE(options.final_norm);
  options.all_rows = true;
  options.final_norm = false;
  ASSERT_EQ(ingot_hidden_states(c_, &prompt, &options, &values, &rows, &cols), INGOT_OK);
  EXPECT_EQ(rows, 3u);
  EXPECT_EQ(std::vector<float>(values, values + rows * cols), expected.values);
  ingot_free(values);

  std::int32_t* ids = nullptr;
  std::size_t count = 0;
  ASSERT_EQ(ingot_encode(c_, "the hen", 7, true, false, &ids, &count), INGOT_OK);
  EXPECT_EQ(std::vector<std::int32_t>(ids, ids + count), engine_.encode("the hen"));
  char* text = nullptr;
  std::size_t bytes = 0;
  ASSERT_EQ(ingot_decode(c_, ids, count, &text, &bytes), INGOT_OK);
  EXPECT_EQ(std::string(text), "the hen");
  EXPECT_EQ(bytes, 7u);
  ingot_free(ids);
  ingot_free(text);
}

TEST_F(CMatchTest, ErrorsAreThoseOfTheCppApi) {
  ingot_request r = ingot_default_request();
  r.prompt.ids = kEnds;
  r.prompt.id_count = 3;
  r.top_p = 7;
  Request request;
  request.prompt.ids = {2, 274, 290};
  request.sampling.top_p = 7;
  ingot_result* result = nullptr;
  EXPECT_EQ(ingot_generate(c_, &r, nullptr, nullptr, &result), INGOT_INVALID);
  EXPECT_EQ(result, nullptr);
  EXPECT_EQ(code(ErrorCode::kInvalid) + ingot_last_error(),
            error_of([&] { engine_.generate(request); }));
  r.prompt.ids = nullptr;
  EXPECT_EQ(ingot_generate(c_, &r, nullptr, nullptr, &result), INGOT_INVALID);
  EXPECT_STREQ(ingot_last_error(), "prompt.ids: a null pointer");
  ingot_open_options options = ingot_default_open_options();
  ingot_engine* engine = nullptr;
  EXPECT_EQ(ingot_open(&options, &engine), INGOT_INVALID);
  EXPECT_STREQ(ingot_last_error(), "path: a null pointer");
  options.path = "nowhere.gguf";
  EXPECT_EQ(ingot_open(&options, &engine), INGOT_MODEL);
  EXPECT_EQ(engine, nullptr);
}

}  // namespace
}  // namespace ingot::api
