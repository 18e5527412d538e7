// speculation_invariance: drafts change no bit of what a request gives, whatever they are.
#include <cctype>
#include <map>

#include "backend/cpu/cpu_backend.h"
#include "base/error.h"
#include "base/full_run_test_util.h"
#include "base/text.h"
#include "engine/constraint_test_util.h"
#include "engine/engine_test_util.h"
#include "quant/formats.h"
#include "runtime/draft/drafter.h"
#include "runtime/draft/model_drafter.h"
#include "runtime/instance.h"
#include "text/chat/constraint_tokens.h"
#include "text/tokenizer/tokenizer_test_util.h"

namespace ingot::testing_support {
namespace {

using Ids = std::vector<std::int32_t>;

constexpr std::int32_t kOpen = 256, kClose = 257, kVocab = 260;
constexpr std::int32_t kDraftRows = 40;
constexpr std::int64_t kContext = 96;
/// Drafts of each step, where a test wants them whether they pay or not.
constexpr std::int32_t kDrafts = 5;

/// The source of drafts, and their quality.
enum class Drafts {
  kLookup,
  kLookupThatPays,
  kPrediction,
  kModel,
  kRight,
  kWrong,
  kRandom,
  kMixed
};
constexpr Drafts kAllDrafts[] = {Drafts::kLookup, Drafts::kLookupThatPays, Drafts::kPrediction,
                                 Drafts::kModel,  Drafts::kRight,          Drafts::kWrong,
                                 Drafts::kRandom, Drafts::kMixed};

/// Drafts tokens of a known quality for requests whose results are known.
class KnownDrafter final : public Drafter {
 public:
  explicit KnownDrafter(Drafts kind) : kind_(kind) {}

  /// Says which tokens the request with this id draws.
  void expect(std::uint64_t id, Ids ids) { expected_[id] = std::move(ids); }

  void propose(std::span<DraftTask* const> tasks) override {
    for (DraftTask* const task : tasks) {
      const Ids& ids = expected_.at(task->request->sequence().id);
      const std::int64_t right = right_drafts(task->most);
      for (std::int64_t i = 0; i < task->most; ++i) {
        const std::int64_t place = task->request->generated() + i;
        // Behind the end of the text no draft is right.
        const std::int32_t id = place < std::ssize(ids) ? at(ids, place) : 0;
        const bool is_random = kind_ == Drafts::kRandom;
        task->drafts.push_back({.id = is_random   ? static_cast<std::int32_t>(rng_() % kVocab)
                                      : i < right ? id
                                                  : (id + 1) % kVocab});
      }
    }
  }

 private:
  std::int64_t right_drafts(std::int64_t most) {
    if (kind_ == Drafts::kMixed) return static_cast<std::int64_t>(rng_() % to_size(most + 1));
    return kind_ == Drafts::kRight ? most : 0;
  }

  Drafts kind_;
  std::map<std::uint64_t, Ids> expected_;
  std::mt19937_64 rng_{1};
};

/// How an engine runs the requests.
struct Conditions {
  std::string name;
  KvType kv_type = KvType::kF16;
  std::int32_t late = 0;    ///< steps under way on a LateBackend; 0: the CPU
  bool late_draws = false;  ///< whether the LateBackend draws
  bool is_tight = false;    ///< a small pool, small queues, slow readers and late arrivals
};

std::vector<Conditions> all_conditions() {
  return {{.name = "batch"},
          {.name = "int8", .kv_type = KvType::kInt8},
          {.name = "tight", .is_tight = true},
          {.name = "late", .late = 2},
          {.name = "late_draws", .late = 2, .late_draws = true},
          {.name = "late_tight",
           .kv_type = KvType::kInt8,
           .late = 2,
           .late_draws = true,
           .is_tight = true}};
}

/// A choice's results.
struct Result {
  std::string text;  ///< as `describe` writes it, with the stop string and the error
  Ids ids;
  std::int64_t drafts = 0, accepted = 0, predicted = 0, accepted_predicted = 0;
};

/// The results of all choices, in the order of submission.
struct Results {
  std::vector<Result> choices;
  std::int64_t preemptions = 0, cached = 0;

  std::int64_t sum(std::int64_t Result::*count) const {
    std::int64_t all = 0;
    for (const Result& r : choices) all += r.*count;
    return all;
  }
};

/// A request, and its number of choices.
struct Asked {
  Request request;
  std::int32_t choices = 1;
};

const Tokenizer& bytes() {
  static const std::unique_ptr<Tokenizer> tokenizer = [] {
    std::vector<std::string> warnings;
    const auto control = TokenType::kControl;
    return make_tokenizer(
        ingot::testing::byte_level_data(
            "gpt-2", {}, {{"<think>", control}, {"</think>", control}, {"<secret>", control}}),
        warnings);
  }();
  INGOT_CHECK(tokenizer->size() == kVocab, "a tokenizer of ", tokenizer->size(), " tokens");
  return *tokenizer;
}

/// Two to eight of a few words, in which most letters are forced.
std::shared_ptr<const Constraint> forced_words() {
  static const auto constraint = make_constraint(
      [](Grammar& g, CompileBudget& budget) {
        const NodeId word = g.terminal(
            TextDfa::any_of(std::vector<std::string>{"abracadabra", "hello", "x0", "x11"}, budget));
        return g.add(grammar::Repeat{
            .part = word, .count_min = 2, .count_max = 8, .separator = g.literal(", ", budget)});
      },
      make_token_trie(bytes(), kVocab, std::vector<std::string>{}));
  return constraint;
}

std::shared_ptr<const Constraint> thought_constraint() {
  static const auto constraint = make_constraint(
      [](Grammar& g, CompileBudget& budget) {
        return g.sequence(
            {g.terminal(TextDfa::until("</think>", budget)), g.literal("\nyes", budget)});
      },
      make_token_trie(bytes(), kVocab, std::vector<std::string>{"<think>", "</think>"}));
  return constraint;
}

ReasoningBudget budget_of(std::int64_t tokens) {
  return {.tokens = tokens,
          .open = true,
          .begin = "<think>",
          .end = "</think>",
          .close = {'.', kClose, '\n'}};
}

/// Draws mostly from a few letters, so that stop strings, bad words and repetitions occur.
SamplingParams letters() {
  SamplingParams p{.temperature = 1};
  for (std::int32_t id = 'a'; id <= 'e'; ++id) p.logit_bias.push_back({id, 9});
  return p;
}

/// Sampling parameters: each field at least once, greedy and sampled.
std::vector<SamplingParams> every_sampling() {
  std::vector<SamplingParams> all{
      {},
      {.temperature = 1},
      {.logit_bias = {{'a', 8}, {'b', kBan}, {'c', 7}}, .temperature = 1, .logprobs = 3},
      {.temperature = 1, .top_k = 3},
      {.temperature = 1, .top_p = 0.3f, .min_p = 0.05f, .logprobs = 0},
      {.temperature = 1, .top_n_sigma = 1.5f, .typical_p = 0.6f},
      {.temperature = 1, .xtc_probability = 0.5f, .xtc_threshold = 0.02f},
      {.allowed_token_ids = {3, 7, 11, 21, 30, 90, 97}, .temperature = 1}};
  for (const float temperature : {0.0f, 1.0f}) {
    all.push_back({.repetition_penalty = 1.3f, .temperature = temperature, .logprobs = 2});
    all.push_back(
        {.presence_penalty = 0.5f, .frequency_penalty = 0.25f, .temperature = temperature});
    all.push_back({.dry_multiplier = 0.8f, .dry_allowed_length = 1, .temperature = temperature});
    all.push_back(
        {.temperature = temperature, .mirostat = 2, .mirostat_tau = 2, .mirostat_eta = 0.5f});
  }
  for (std::size_t i = 0; i < 4; ++i) {
    all.push_back(letters());
    if (i == 1) all.back().bad_words = {"ab", "c"};
    if (i == 2) all.back().dry_multiplier = 2;
    if (i == 3) {
      all.back().min_tokens = 12;
      all.back().end_ids = {'a', 'b', 'e'};
    }
  }
  return all;
}

/// Requests with every parameter. Some repeat the prompt of another.
std::vector<Asked> every_request(EngineRunner& runner, std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int32_t>(rng() % n); };
  std::vector<Asked> all;
  for (const SamplingParams& sampling : every_sampling()) {
    Request r{.sampling = sampling, .max_tokens = 24 + below(20)};
    const bool repeats = !all.empty() && below(3) == 0;
    if (repeats) r.prompt = all.back().request.prompt;
    for (std::int32_t n = repeats ? below(3) : 4 + below(30); n > 0; --n) {
      r.prompt.push_back('a' + below(6));
    }
    r.digest = below(2) == 0;
    r.prompt_logprobs = below(4) == 0 ? 2 : -1;
    all.push_back({.request = std::move(r), .choices = below(4) == 0 ? 3 : 1});
  }
  const auto add = [&](const SamplingParams& sampling, auto change) {
    Request r{.prompt = {'a', 'b', 'c'}, .sampling = sampling, .max_tokens = 40};
    change(r);
    all.push_back({.request = std::move(r)});
  };
  for (const bool include : {false, true}) {
    add(letters(), [&](Request& r) {
      r.stop = {"ad", "ea"};
      r.include_stop = include;
    });
  }
  for (const float temperature : {0.0f, 1.0f}) {
    const SamplingParams p{.logit_bias = {{kClose, kBan}}, .temperature = temperature};
    add({.temperature = temperature}, [](Request& r) { r.constraint = forced_words(); });
    add(p, [](Request& r) {
      r.markers = {kOpen, kClose};
      r.reasoning = budget_of(7);
    });
    add(p, [](Request& r) {
      r.markers = {kOpen, kClose};
      r.reasoning = budget_of(5);
      r.constraint = thought_constraint();
    });
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    Request& r = all[i].request;
    r.sampling.seed = rng();
    r.adapters = runner.model().adapters(i % 5 < 3 ? i % 5 : 0);
  }
  return all;
}

/// Steps an engine until all requests have ended, and compares nothing.
class RequestRun {
 public:
  RequestRun(Engine& engine, const Conditions& conditions)
      : engine_(engine), conditions_(conditions) {}

  /// `expected`: the results that a KnownDrafter knows; null: none.
  Results run(const std::vector<Asked>& all, KnownDrafter* drafter, const Results* expected) {
    std::size_t next = 0;
    for (int tick = 0; next < all.size() || engine_.under_way() > 0 || ended_ < streams_.size();
         ++tick) {
      INGOT_CHECK(tick < 100000, "the requests do not end");
      for (std::size_t n = conditions_.is_tight ? rng_() % 2 : all.size(); n > 0; --n) {
        if (next < all.size()) submit(all[next++], drafter, expected);
      }
      engine_.step();
      for (std::size_t i = 0; i < streams_.size(); ++i) read(i);
    }
    results_.preemptions = engine_.scheduler().preemptions();
    return std::move(results_);
  }

 private:
  void submit(const Asked& asked, KnownDrafter* drafter, const Results* expected) {
    for (Stream& stream : engine_.submit_choices(Request(asked.request), asked.choices)) {
      if (drafter != nullptr) {
        drafter->expect(stream.id(), expected->choices.at(streams_.size()).ids);
      }
      streams_.push_back(std::move(stream));
      got_.emplace_back();
      results_.choices.emplace_back();
    }
  }

  void read(std::size_t i) {
    if (!streams_[i]) return;
    for (std::size_t n = conditions_.is_tight ? rng_() % 3 : 1000; n > 0; --n) {
      const auto delta = streams_[i]->try_next();
      if (!delta) break;
      got_[i].add(*delta);
    }
    if (!streams_[i]->finished()) return;
    const Outcome& o = streams_[i]->outcome();
    results_.choices[i] = {
        .text = cat(describe(got_[i], o), " stop ", o.stop, o.error ? o.error->message() : ""),
        .ids = got_[i].ids,
        .drafts = o.drafts,
        .accepted = o.accepted_drafts,
        .predicted = o.predicted,
        .accepted_predicted = o.accepted_predicted};
    results_.cached += o.cached_tokens;
    streams_[i].reset();
    ++ended_;
  }

  Engine& engine_;
  const Conditions& conditions_;
  std::mt19937_64 rng_{7};
  std::vector<std::optional<Stream>> streams_;
  std::vector<Collected> got_;
  std::size_t ended_ = 0;
  Results results_;
};

void expect_equal(const Results& results, const Results& expected) {
  ASSERT_EQ(results.choices.size(), expected.choices.size());
  for (std::size_t i = 0; i < expected.choices.size(); ++i) {
    EXPECT_EQ(results.choices[i].text, expected.choices[i].text) << "choice " << i;
  }
}

/// Checks that the runs verify drafts of the quality that they are to have.
void expect_drafts(Drafts kind, const Results& results) {
  const std::int64_t drafts = results.sum(&Result::drafts);
  const std::int64_t accepted = results.sum(&Result::accepted);
  switch (kind) {
    case Drafts::kLookupThatPays:
      return;
    case Drafts::kRight:
      EXPECT_GT(accepted, drafts / 2);
      return;
    case Drafts::kMixed:
      EXPECT_GT(accepted, 50);
      EXPECT_GT(drafts - accepted, 50);
      return;
    case Drafts::kWrong:
      EXPECT_EQ(accepted, 0);
      break;
    case Drafts::kPrediction:
      EXPECT_GT(results.sum(&Result::accepted_predicted), 50);
      break;
    case Drafts::kLookup:
    case Drafts::kModel:
    case Drafts::kRandom:
      break;
  }
  EXPECT_GT(drafts - accepted, 20);
}

/// A model, and the conditions under which it is tested.
struct Case {
  RandomModel model;
  std::vector<Conditions> conditions;
};

class speculation_invariance : public ::testing::TestWithParam<Case> {
 protected:
  speculation_invariance() {
    RandomModel model = two_layers(GetParam().model);
    model.config.vocab = kVocab;
    checkpoint_ = make_checkpoint(model, 8);
    draft_checkpoint_ = make_checkpoint(model, 9);
  }

  static RunnerOptions options(const Conditions& c) {
    RunnerOptions options = EngineRunner::defaults();
    options.context = kContext;
    options.rows = c.is_tight ? 30 : 100;
    options.sequences = c.is_tight ? 10 : 40;
    options.pool_sequences = c.is_tight ? 2 : 0;
    options.kv_type = c.kv_type;
    options.late = c.late;
    options.late_draws = c.late_draws;
    options.adapters = 2;
    return options;
  }

  /// Runs the requests without drafts; with all others at once, because batches change no bit.
  Results plain(const Conditions& c) {
    RunnerOptions plain = options(c);
    plain.draft_rows = 0;
    EngineRunner runner(*checkpoint_, plain, engine_options(c), &bytes());
    return RequestRun(runner.engine(), c).run(every_request(runner, 1), nullptr, nullptr);
  }

  Results drafted(const Conditions& c, Drafts kind, const Results& expected) {
    RunnerOptions with = options(c);
    with.draft_rows = c.is_tight ? 15 : kDraftRows;
    EngineOptions engine = engine_options(c);
    engine.speculation.tokens = kind == Drafts::kLookupThatPays ? 0 : kDrafts;
    engine.speculation.lookup = kind <= Drafts::kLookupThatPays;
    const auto known = std::make_shared<KnownDrafter>(kind);
    if (kind >= Drafts::kRight) engine.speculation.model = known;
    std::unique_ptr<ModelRunner> draft_model;
    if (kind == Drafts::kModel) {
      draft_model = std::make_unique<ModelRunner>(*draft_checkpoint_, draft_options(c));
      engine.speculation.model = std::make_shared<ModelDrafter>(
          draft_model->executor(), draft_model->pool(), draft_model->table(), std::int64_t{kVocab},
          DraftErrorReport{});
    }
    EngineRunner runner(*checkpoint_, with, engine, &bytes());
    std::vector<Asked> all = every_request(runner, 1);
    if (kind == Drafts::kPrediction) predict(all, expected);
    return RequestRun(runner.engine(), c)
        .run(all, kind >= Drafts::kRight ? known.get() : nullptr, &expected);
  }

  std::unique_ptr<Checkpoint> checkpoint_, draft_checkpoint_;

 private:
  static EngineOptions engine_options(const Conditions& c) {
    EngineOptions options;
    if (c.is_tight) options.deltas_max = 4;
    return options;
  }
  /// The draft model's pool has room for a few sequences only.
  static RunnerOptions draft_options(const Conditions& c) {
    return {.context = kContext,
            .rows = 48,
            .sequences = 40,
            .pool_sequences = c.is_tight ? 2 : 0,
            .late = 0};
  }
  /// Predicts each text with one other token.
  static void predict(std::vector<Asked>& all, const Results& expected) {
    std::size_t choice = 0;
    for (Asked& asked : all) {
      Ids& ids = asked.request.prediction;
      ids = expected.choices.at(choice).ids;
      if (!ids.empty()) ids[ids.size() / 2] ^= 1;
      choice += to_size(asked.choices);
    }
  }
};

TEST_P(speculation_invariance, DraftsChangeNoBit) {
  std::map<KvType, Results> expected;
  for (const Conditions& c : GetParam().conditions) {
    SCOPED_TRACE(c.name);
    if (expected.find(c.kv_type) == expected.end()) {
      const Conditions roomy{.name = "plain", .kv_type = c.kv_type};
      expected[c.kv_type] = plain(roomy);
      ASSERT_EQ(expected[c.kv_type].sum(&Result::drafts), 0);
    }
    const Results& want = expected[c.kv_type];
    for (const Drafts kind : kAllDrafts) {
      SCOPED_TRACE(static_cast<int>(kind));
      const Results results = drafted(c, kind, want);
      expect_equal(results, want);
      expect_drafts(kind, results);
      EXPECT_EQ(results.preemptions > 0, c.is_tight);
      EXPECT_GT(results.cached, 0);
      if (HasFailure()) return;
    }
  }
}

std::string model_name(const ::testing::TestParamInfo<Case>& info) {
  std::string name = info.param.model.name;
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

/// All families that draw tokens, each with one format. Each has one of the conditions in turn; in
/// a full run, all of them.
std::vector<Case> all_cases() {
  constexpr Format kFormats[] = {F32::kFormat, Q8_0::kFormat, Q4_K::kFormat};
  const std::vector<Conditions> conditions = all_conditions();
  std::vector<Case> cases;
  for (const RandomModel& model : random_models_in_turn(kFormats)) {
    if (!model.config.causal) continue;
    cases.push_back({.model = model, .conditions = conditions});
    if (!is_full_run()) cases.back().conditions = {conditions[cases.size() % conditions.size()]};
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(RandomModels, speculation_invariance, ::testing::ValuesIn(all_cases()),
                         model_name);

/// The built-in model and its draft model, as a user starts them.
class DemoSpeculation : public ::testing::Test {
 protected:
  static constexpr std::int32_t kSequences = 6, kRows = 64;
  static constexpr std::int64_t kLength = 256;

  static StartOptions target_options(std::int32_t draft_rows) {
    return {.context = kLength,
            .sequences = kSequences,
            .rows = kRows,
            .generates = true,
            .draft_rows = draft_rows};
  }
  static StartOptions draft_options() {
    return {.context = kLength,
            .sequences = kSequences,
            .rows = kRows,
            .out_rows = kSequences,
            .logits_rows = kSequences};
  }
  static std::string model(const char* name) { return cat(INGOT_SOURCE_DIR, "/models/", name); }

  static std::vector<Asked> requests(const Tokenizer& tokenizer) {
    std::vector<Asked> all;
    for (const char* const prompt : {"Once upon a time", "The little dog", "One day, a boy"}) {
      for (const float temperature : {0.0f, 0.8f}) {
        Request r{.prompt = tokenizer.encode(prompt), .max_tokens = 80, .digest = true};
        r.sampling.temperature = temperature;
        r.sampling.seed = all.size();
        r.sampling.logprobs = 1;
        all.push_back({.request = std::move(r)});
      }
    }
    return all;
  }

  /// Runs the requests with `options`, and drafts if there are any.
  Results run(std::int32_t draft_rows, const EngineOptions& options) {
    Instance target(pool_, {.path = model("ingot-demo.gguf")});
    target.start(target_options(draft_rows), [](std::uint64_t, std::uint64_t) {});
    const auto engine = target.make_engine(options);
    return RequestRun(*engine, conditions_).run(requests(*target.tokenizer()), nullptr, nullptr);
  }

  ThreadPool pool_{2};
  Conditions conditions_{};
};

TEST_F(DemoSpeculation, TheDraftModelAndLookupsChangeNoBit) {
  const Results expected = run(0, {});
  Instance draft(pool_, {.path = model("ingot-demo-draft.gguf")});
  draft.start(draft_options(), [](std::uint64_t, std::uint64_t) {});
  for (const bool lookup : {false, true}) {
    for (const bool has_model : {false, true}) {
      if (!lookup && !has_model) continue;
      SCOPED_TRACE(cat(lookup, has_model));
      EngineOptions options;
      options.speculation = {.lookup = lookup, .tokens = kDrafts};
      if (has_model) {
        options.speculation.model =
            std::make_shared<ModelDrafter>(draft.executor(), pool_, *kernel_tables().back(),
                                           draft.sampled_ids(), DraftErrorReport{});
      }
      const Results results = run(20, options);
      expect_equal(results, expected);
      const std::int64_t accepted = results.sum(&Result::accepted);
      EXPECT_GT(accepted, 0);
      // Most tokens of a draft model that was made for the target are right.
      EXPECT_TRUE(lookup || 2 * accepted > results.sum(&Result::drafts)) << accepted;
    }
  }
}

}  // namespace
}  // namespace ingot::testing_support
