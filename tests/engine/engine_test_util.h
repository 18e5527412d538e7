// Engines on tiny random models, and what a request gave in the end.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "runtime/engine.h"
#include "support/model_runner.h"
#include "support/random_model.h"
#include "text/tokenizer/tokenizer.h"

namespace ingot::testing_support {

/// The first two layers of a random model: half the work, and still one layer of each kind.
inline RandomModel two_layers(RandomModel model) {
  Config& c = model.config;
  c.layers = 2;
  if (!c.window.empty()) c.window.resize(2);
  if (!c.dense_layer.empty()) c.dense_layer.resize(2);
  return model;
}

/// A model with an engine on it. Context 96, steps of 48 rows, up to 12 sequences, unless options
/// say otherwise.
class EngineRunner {
 public:
  explicit EngineRunner(Checkpoint& checkpoint, const RunnerOptions& options = defaults(),
                        const EngineOptions& engine = {}, const Tokenizer* tokenizer = nullptr,
                        std::vector<std::int32_t> end_ids = {})
      : model_(checkpoint, options),
        engine_({.executor = model_.executor(),
                 .pool = model_.pool(),
                 .kernels = model_.table(),
                 .tokenizer = tokenizer,
                 .ids = model_.spec().vocab,
                 .end_ids = std::move(end_ids)},
                with_lookup(engine)) {}

  static RunnerOptions defaults() {
    return {.table = kernel_tables().back(),
            .context = 96,
            .rows = 48,
            .sequences = 12,
            .draft_rows = 8,
            .score_top = 3};
  }
  /// Adds lookups to options without drafts, because drafts change no result.
  static EngineOptions with_lookup(EngineOptions options) {
    SpeculationOptions& s = options.speculation;
    if (!s.lookup && s.model == nullptr && s.tokens == 0) s = {.lookup = true, .tokens = 3};
    return options;
  }

  Engine& engine() { return engine_; }
  ModelRunner& model() { return model_; }
  std::int32_t blocks_in_use() {
    std::int32_t used = 0;
    KvCache& cache = model_.executor().cache();
    for (std::int32_t g = 0; g < cache.groups(); ++g) {
      used += cache.pool(g).total() - cache.pool(g).available();
    }
    return used;
  }

 private:
  ModelRunner model_;
  Engine engine_;
};

/// Everything that a reader sees, as one text: equal texts mean equal results, bit for bit.
struct Collected {
  std::vector<std::int32_t> ids;
  std::string text;
  std::vector<TokenLogprobs> logprobs;

  void add(const Delta& delta) {
    ids.insert(ids.end(), delta.ids.begin(), delta.ids.end());
    logprobs.insert(logprobs.end(), delta.logprobs.begin(), delta.logprobs.end());
    text += delta.text;
  }
};

inline std::string describe(const std::vector<TokenLogprobs>& scores) {
  std::string all;
  const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  for (const TokenLogprobs& t : scores) {
    all += cat(" ", t.token.id, ":", bits(t.token.logprob));
    for (const TokenScore& s : t.top) all += cat("/", s.id, ":", bits(s.logprob));
  }
  return all;
}

inline std::string describe(const Collected& c, const Outcome& o) {
  std::string all = cat(to_string(o.finish), " ", o.digest_text(), " ", c.text, " ids");
  for (const std::int32_t id : c.ids) all += cat(" ", id);
  return all + " logprobs" + describe(c.logprobs) + " prompt" + describe(o.prompt_logprobs);
}

/// Runs one request to its end, alone, step by step.
inline std::string run_alone(EngineRunner& runner, Request request) {
  Stream stream = *runner.engine().submit(std::move(request));
  Collected got;
  for (bool more = true; more;) {
    more = runner.engine().step();
    while (const auto delta = stream.try_next()) got.add(*delta);
  }
  return describe(got, stream.outcome());
}

/// Reads to the end, from an engine with a thread.
inline std::string read_all(Stream& stream) {
  Collected got;
  while (const auto delta = stream.next()) got.add(*delta);
  return describe(got, stream.outcome());
}

/// Truncation, penalties and bounds on the length, each now and then.
inline void randomise_sampling(std::mt19937_64& rng, SamplingParams& params) {
  const auto below = [&](std::uint64_t n) { return static_cast<std::int32_t>(rng() % n); };
  params.temperature = below(2) == 0 ? 0.0f : 1.0f;
  params.seed = rng();
  params.logprobs = below(4) - 1;
  if (below(4) == 0) params.top_k = 1 + below(20);
  if (below(4) == 0) params.top_p = 0.8f;
  if (below(4) == 0) params.min_p = 0.05f;
  if (below(3) == 0) params.repetition_penalty = 1.3f;
  if (below(3) == 0) params.presence_penalty = 0.5f;
  if (below(3) == 0) params.frequency_penalty = 0.25f;
  if (below(4) == 0) params.min_tokens = below(8);
  if (below(4) == 0) params.end_ids = {below(37)};
  std::mt19937_64 more(params.seed);  // apart, so that `rng` gives the same requests as without
  if (more() % 4 == 0) params.top_n_sigma = 1.5f;
  if (more() % 4 == 0) params.xtc_probability = 0.5f;
  if (more() % 4 == 0) params.xtc_threshold = 0.02f;
  if (more() % 4 == 0) params.dry_multiplier = 0.8f;
  if (more() % 8 == 0) params.allowed_token_ids = {30, 3, 7, 3, 21, 11};
  if (more() % 4 == 0) params.mirostat = 2;  // refused if text is continued
  if (more() % 4 == 0) params.mirostat_tau = 2;
}

/// A request with random prompt, length and sampling for models of 37 tokens.
inline Request random_request(std::mt19937_64& rng, std::int64_t prompt_max,
                              std::int64_t tokens_max) {
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(n));
  };
  Request request;
  request.prompt.resize(static_cast<std::size_t>(1 + below(prompt_max)));
  for (std::int32_t& id : request.prompt) id = static_cast<std::int32_t>(below(37));
  request.max_tokens = 1 + below(tokens_max);
  randomise_sampling(rng, request.sampling);
  request.prompt_logprobs = static_cast<std::int32_t>(below(4)) - 1;
  request.digest = true;
  return request;
}

}  // namespace ingot::testing_support
