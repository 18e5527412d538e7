// Adapters on models: which rows each module changes, in both namings, and what is refused.
#include "model/adapter.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <numeric>

#include "base/error.h"
#include "base/file.h"
#include "base/index.h"
#include "base/shared_data_test_util.h"
#include "base/text.h"
#include "load/adapter/adapter_test_util.h"
#include "load/json.h"
#include "model/model.h"
#include "model/weight_list.h"
#include "quant/formats.h"
#include "support/adapter_deltas.h"
#include "support/random_model.h"

namespace ingot::testing_support {
namespace {

using namespace testing_adapter;
Base shared_base(std::string_view path) {
  return Base(Checkpoint::open((shared_folder("goldens") / path).string()));
}

Base random_base(std::string_view family) {
  for (const RandomModel& m : random_models(F32::kFormat)) {
    if (m.name == cat(family, " F32")) return Base(make_checkpoint(m, 1));
  }
  throw Error(ErrorCode::kInternal, cat("no family ", family));
}

std::int32_t number_of(const Base& base, const BoundWeight& w) {
  const auto weights = all_weights(base.bound, {});
  return static_cast<std::int32_t>(std::find(weights.begin(), weights.end(), &w) - weights.begin());
}

/// Element i of a tensor.
double element(const TensorInfo& t, std::int64_t i) {
  float value = 0;
  const std::int64_t bytes = format_info(*t.format).block_bytes;
  decode_row(*t.format, t.data + i * bytes, 1, &value);
  return static_cast<double>(value);
}

/// scale * B A of a pair of one matrix.
Values product(const AdapterPair& pair) {
  const std::int64_t r = pair.rank, in = pair.a->shape[1], out = pair.b->shape[0];
  Values delta(to_size(out * in));
  for (std::int64_t i = 0; i < out; ++i) {
    for (std::int64_t k = 0; k < r; ++k) {
      const double factor = pair.scale * element(*pair.b, i * r + k);
      for (std::int64_t j = 0; j < in; ++j) {
        at(delta, i * in + j) += factor * element(*pair.a, k * in + j);
      }
    }
  }
  return delta;
}

/// Rows [first, first + count) of a matrix.
Values slice(const Values& matrix, std::int64_t cols, std::int64_t first, std::int64_t count) {
  return {matrix.begin() + first * cols, matrix.begin() + (first + count) * cols};
}

void expect_equal(const Values& got, const Values& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], 1e-12) << what << ", element " << i;
  }
}

std::string refusal(const AdapterFile& file, const Base& base) {
  FloatBackend backend;
  try {
    load_adapter(file, base.targets, backend);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kModel);
    return error.message();
  }
  return "accepted";
}

void expect_refused(const AdapterFile& file, const Base& base, std::string_view part) {
  const std::string message = refusal(file, base);
  EXPECT_NE(message.find(part), std::string::npos) << message << "\n  lacks: " << part;
}

/// An adapter of PEFT that exists for a test.
struct TestAdapter {
  TestAdapter(const std::vector<TestTensor>& tensors, std::string_view config)
      : file((write_peft(folder, tensors, config), open_adapter(folder.path()))) {}
  TempFolder folder;
  AdapterFile file;
};

constexpr std::string_view kAllLinear =
    R"("r": 2, "lora_alpha": 3, "target_modules": "all-linear")";

/// A configuration that names modules by their whole names or their ends.
std::string config_for(const std::vector<std::string>& modules) {
  std::string names;
  for (const std::string& name : modules) names += cat(names.empty() ? "\"" : ", \"", name, "\"");
  return cat(R"("r": 2, "lora_alpha": 3, "target_modules": [)", names, "]");
}

Json golden_of(const std::filesystem::path& folder) {
  const std::string path = (folder / "golden.json").string();
  return parse_json(File(path).read_all(1 << 20), path, "golden");
}

TEST(Adapter, SharedAdaptersAreAcceptedOrRefused) {
  INGOT_NEEDS_SHARED("references/lora");
  int folders = 0;
  for (const auto& path : shared_entries("references/lora")) {
    if (!std::filesystem::exists(path / "golden.json")) continue;
    const std::string name = path.filename().string();
    const Json golden = golden_of(path);
    const Base base = shared_base(*golden.find_string("base"));
    std::string message;
    try {
      message = refusal(open_adapter(path.string()), base);
    } catch (const Error& error) {
      message = error.message();
    }
    EXPECT_EQ(message == "accepted", *golden.find_string("expect") == "accept")
        << name << ": " << message;
    if (name == "refused-shape") {
      EXPECT_NE(message.find("q_proj.lora_A.weight"), std::string::npos) << message;
      EXPECT_NE(message.find("64 columns"), std::string::npos) << message;
    }
    if (name == "refused-no-such-layer") {
      EXPECT_NE(message.find("layers.7."), std::string::npos) << message;
      EXPECT_NE(message.find("the model has 2 layers"), std::string::npos) << message;
    }
    ++folders;
  }
  EXPECT_GE(folders, 20);
}

/// The weight of a module of a Llama-like model in Hugging Face's naming, and its first row there.
std::pair<const BoundWeight*, std::int64_t> place_of(const Base& base, const std::string& module) {
  if (module == "lm_head") return {&base.bound.head, 0};
  const std::size_t at_layer = std::string_view("model.layers.").size();
  const std::int64_t i = module[at_layer] - '0';
  const BoundLayer& layer = at(base.bound.layers, i);
  const LayerSpec& s = base.bound.spec.layer(i);
  const auto is = [&](std::string_view end) { return module.ends_with(end); };
  if (is(".q_proj")) return {&layer.qkv, 0};
  if (is(".k_proj")) return {&layer.qkv, s.q_cols()};
  if (is(".v_proj")) return {&layer.qkv, s.q_cols() + s.k_cols()};
  if (is(".o_proj")) return {&layer.attn_out, 0};
  if (is(".gate_proj")) return {&layer.gate_up, 0};
  if (is(".up_proj")) return {&layer.gate_up, s.ffn};
  return {&layer.down, 0};
}

TEST(Adapter, EachModuleChangesItsRowsAndNoOthers) {
  INGOT_NEEDS_SHARED("references/lora");
  for (const std::string name : {"llama-r8-patterns", "llama-r16-rslora-mlp", "llama-r4-regex-head",
                                 "llama-bias-r8-qv", "qwen3-r4-attn-bf16", "qwen3moe-r8-attn"}) {
    const auto path = shared_folder("references/lora") / name;
    const Base base = shared_base(*golden_of(path).find_string("base"));
    const AdapterFile file = open_adapter(path.string());
    Deltas want;
    for (const AdapterPair& pair : file.pairs) {
      const auto [weight, first] = place_of(base, pair.module);
      Values& delta = want[number_of(base, *weight)];
      const std::int64_t cols = weight->parts.front().cols;
      delta.resize(to_size(rows_of(*weight) * cols));
      const Values own = product(pair);
      std::copy(own.begin(), own.end(), delta.begin() + first * cols);
    }
    const Deltas got = loaded_deltas(file, base);
    ASSERT_EQ(got.size(), want.size()) << name;
    for (const auto& [number, delta] : want) expect_equal(got.at(number), delta, name);
  }
}

/// GGUF files of Llama have the rows of rotary heads in another order than folders.
TEST(Adapter, BothNamingsChangeTheSameRowsOfBothKindsOfModels) {
  INGOT_NEEDS_SHARED("references/lora");
  const auto lora = shared_folder("references/lora");
  for (const auto& [name, bases] : std::map<std::string, std::vector<std::string>>{
           {"big-llama-q8_0-r8-all", {"quantized/big-llama-q8_0.gguf", "models/big-llama"}},
           {"big-llama-q8_0-r16-rslora-attn",
            {"quantized/big-llama-q8_0.gguf", "models/big-llama"}},
           {"llama-r8-all", {"models/llama", "gguf/llama.gguf"}},
           {"qwen3-r8-all", {"models/qwen3", "gguf/qwen3.gguf"}}}) {
    const AdapterFile peft = open_adapter((lora / name).string());
    const AdapterFile gguf = open_adapter((lora / "gguf" / (name + ".gguf")).string());
    for (const std::string& path : bases) {
      if (!std::filesystem::exists(shared_folder("goldens") / path)) continue;
      const Base base = shared_base(path);
      const Deltas a = loaded_deltas(peft, base), b = loaded_deltas(gguf, base);
      ASSERT_EQ(a.size(), b.size());
      for (const auto& [number, delta] : a) {
        expect_equal(b.at(number), delta, cat(name, " on ", path, ", weight ", number));
      }
    }
  }
}

/// A part of a weight that stands for a module, as the model's own file names it.
bool is_matrix(TensorRole role) {
  using R = TensorRole;
  switch (role) {
    case R::kEmbedding:
    case R::kHead:
    case R::kQkv:
    case R::kQ:
    case R::kK:
    case R::kV:
    case R::kAttnOut:
    case R::kQDown:
    case R::kQUp:
    case R::kKvDown:
    case R::kGateUp:
    case R::kGate:
    case R::kUp:
    case R::kDown:
    case R::kSharedGateUp:
    case R::kSharedGate:
    case R::kSharedUp:
    case R::kSharedDown:
    case R::kSharedRouter:
    case R::kRouter:
    case R::kLayerInputGate:
    case R::kLayerInputOut:
    case R::kLayerProjection:
    case R::kExpertGate:
    case R::kExpertUp:
    case R::kExpertDown:
    case R::kExpertGateUp:
    case R::kExpertGateUpTurned:
    case R::kExpertDownTurned:
      return true;
    default:
      return false;
  }
}

/// Every matrix of a model's file has targets under its own name, with its shape.
void expect_all_found(const Base& base, const std::string& what) {
  const Naming naming = base.checkpoint->config().naming;
  for (const BoundTensor& t : base.bound.tensors) {
    if (!is_matrix(t.role)) continue;
    std::string_view name = t.tensor->name;
    constexpr std::string_view kEnd = ".weight";
    if (naming == Naming::kHuggingFace && name.ends_with(kEnd)) name.remove_suffix(kEnd.size());
    const auto found = base.targets.find(naming, name);
    ASSERT_TRUE(found) << what << ": " << name;
    const AdapterTarget& target = found->targets->front();
    const std::int64_t stack = found->expert < 0 && target.experts > 0 ? target.experts : 1;
    EXPECT_EQ(target.module_rows * target.cols * stack, t.tensor->elements()) << what << name;
    std::int64_t rows = 0;
    for (const AdapterTarget& one : *found->targets) rows += one.rows;
    EXPECT_EQ(rows % target.module_rows, 0) << what << name;
  }
}

TEST(Adapter, EveryMatrixOfEveryFamilyIsFoundByItsName) {
  for (const RandomModel& m : random_models(F32::kFormat)) {
    expect_all_found(Base(make_checkpoint(m, 1)), m.name);
  }
  for (const std::string_view folder : {"references/families", "references/families-gguf"}) {
    for (const auto& path : shared_entries(folder)) {
      if (path.extension() != ".gguf" && !std::filesystem::is_directory(path)) continue;
      expect_all_found(Base(Checkpoint::open(path.string())), path.filename().string());
    }
  }
}

TEST(Adapter, LoadingNumbersTheWeightsInPackingOrder) {
  for (const RandomModel& m : random_models(F32::kFormat)) {
    const auto checkpoint = make_checkpoint(m, 1);
    FloatBackend backend;
    const auto model = load_model(*checkpoint, bind_model(*checkpoint), backend, {.context = 16},
                                  [](std::uint64_t, std::uint64_t) {});
    const auto weights = loaded_weights(*model);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      EXPECT_EQ(weights[i]->number, static_cast<std::int32_t>(i)) << m.name;
    }
    EXPECT_EQ(model->adapter_targets.weights(), std::ssize(weights)) << m.name;
  }
}

TEST(Adapter, ExpertsHavePairsOfTheirOwn) {
  const Base base = random_base("qwen3moe");
  const std::int64_t h = base.bound.spec.hidden, f = base.bound.spec.moe.ffn;
  const std::string experts = "model.layers.1.mlp.experts.";
  const TestAdapter adapter(
      joined({pair_of(experts + "1.gate_proj", 2, h, f), pair_of(experts + "1.up_proj", 2, h, f),
              pair_of(experts + "0.down_proj", 2, f, h)}),
      config_for({experts + "1.gate_proj", experts + "1.up_proj", experts + "0.down_proj"}));
  const Deltas got = loaded_deltas(adapter.file, base);
  ASSERT_EQ(got.size(), 2u);
  const BoundLayer& layer = base.bound.layers[1];
  const Values& gate_up = got.at(number_of(base, layer.expert_gate_up[1]));
  // Sorted by module: experts.0.down_proj, experts.1.gate_proj, experts.1.up_proj.
  expect_equal(slice(gate_up, h, 0, f), product(adapter.file.pairs[1]), "gate");
  expect_equal(slice(gate_up, h, f, f), product(adapter.file.pairs[2]), "up");
  expect_equal(got.at(number_of(base, layer.expert_down[0])), product(adapter.file.pairs[0]),
               "down");
  const auto refused = [&](const std::string& module, std::int64_t in, std::int64_t out,
                           std::string_view part) {
    expect_refused(TestAdapter(pair_of(module, 2, in, out), kAllLinear).file, base, part);
  };
  refused(cat(experts, base.bound.spec.moe.experts, ".up_proj"), h, f, "experts");
  refused(experts + "gate_up_proj", h, 2 * f, "its module is a stack of experts");
  refused(experts + "01.up_proj", h, f, "the model has no such matrix");
  refused(experts + "1.up_proj", h + 1, f, cat("has ", h + 1, " columns, but the model ", h));
  refused(experts + "1.up_proj", h, f + 1, cat("has ", f + 1, " rows, but the model ", f));
}

/// delta[e][x][y] of a parameter [E, x, y].
/// Source: peft/tuners/lora/layer.py, ParamWrapper.get_delta_weight: "o r e, e r i -> e i o", and
/// from 0.19 on, for parameters that are not turned, "o r e, e r i -> e o i".
double parameter_delta(const AdapterPair& p, std::int64_t experts, std::int64_t e, std::int64_t o,
                       std::int64_t i) {
  double sum = 0;
  for (std::int64_t r = 0; r < p.rank; ++r) {
    sum += element(*p.b, (o * p.rank + r) * experts + e) *
           element(*p.a, (e * p.rank + r) * p.a->shape[1] + i);
  }
  return p.scale * sum;
}

std::string parameter_config(std::string_view name, std::string_view version) {
  return cat(R"("r": 2, "lora_alpha": 3, "target_parameters": [")", name,
             R"("], "peft_version": ")", version, "\"");
}

TEST(Adapter, ParametersOfExpertsInBothLayouts) {
  const Base base = random_base("qwen3moe");
  const Spec& spec = base.bound.spec;
  const std::int64_t h = spec.hidden, f = spec.moe.ffn, n = spec.moe.experts;
  const std::string module = "model.layers.1.mlp.experts";
  const auto& weights = base.bound.layers[1].expert_gate_up;
  for (const bool old : {false, true}) {
    const TestAdapter adapter(
        pair_of(module, 2 * n, old ? 2 * f : h, old ? h : 2 * f),
        parameter_config("layers.1.mlp.experts.gate_up_proj", old ? "0.18.1" : "0.19.0"));
    const AdapterPair& p = adapter.file.pairs[0];
    const Deltas got = loaded_deltas(adapter.file, base);
    ASSERT_EQ(std::ssize(got), n);
    for (std::int64_t e = 0; e < n; ++e) {
      Values want;
      for (std::int64_t x = 0; x < 2 * f; ++x) {
        for (std::int64_t y = 0; y < h; ++y) {
          want.push_back(old ? parameter_delta(p, n, e, y, x) : parameter_delta(p, n, e, x, y));
        }
      }
      expect_equal(got.at(number_of(base, at(weights, e))), want, cat("expert ", e, ", old ", old));
    }
  }
  const TestAdapter one_more(pair_of(module, 2 * (n + 1), h, 2 * f),
                             parameter_config("layers.1.mlp.experts.gate_up_proj", "0.19.0"));
  expect_refused(one_more.file, base, cat("has ", 2 * (n + 1), " rows of rank 2"));
  const TestAdapter wide(pair_of(module, 2 * n, h + 2, 2 * f),
                         parameter_config("layers.1.mlp.experts.gate_up_proj", "0.19.0"));
  expect_refused(wide.file, base, "its pair is for matrices of");
}

/// GPT-OSS stores inputs as rows, and columns of gate and up alternate.
TEST(Adapter, TurnedParametersAlternate) {
  const Base base = random_base("gpt-oss");
  const Spec& spec = base.bound.spec;
  const std::int64_t h = spec.hidden, f = spec.moe.ffn, n = spec.moe.experts;
  const TestAdapter adapter(pair_of("model.layers.0.mlp.experts", 2 * n, h, 2 * f),
                            parameter_config("layers.0.mlp.experts.gate_up_proj", "0.18.1"));
  const Deltas got = loaded_deltas(adapter.file, base);
  ASSERT_EQ(std::ssize(got), n);
  for (std::int64_t e = 0; e < n; ++e) {
    Values want;
    for (std::int64_t row = 0; row < 2 * f; ++row) {
      const std::int64_t column = row < f ? 2 * row : 2 * (row - f) + 1;
      for (std::int64_t i = 0; i < h; ++i) {
        want.push_back(parameter_delta(adapter.file.pairs[0], n, e, column, i));
      }
    }
    expect_equal(got.at(number_of(base, at(base.bound.layers[0].expert_gate_up, e))), want,
                 cat("expert ", e));
  }
}

TEST(Adapter, EmbeddingAndHeadChangeApart) {
  for (const bool tied : {false, true}) {
    RandomModel m;
    for (const RandomModel& one : random_models(F32::kFormat)) {
      if (one.name == "llama F32") m = one;
    }
    auto checkpoint = make_checkpoint(m, 1);
    if (tied) checkpoint->remove("output.weight");
    const Base base(std::move(checkpoint));
    const std::int64_t v = base.bound.spec.vocab, h = base.bound.spec.hidden;
    const std::string embed = "base_model.model.model.embed_tokens.lora_embedding_";
    const TestAdapter adapter(
        joined({pair_of("lm_head", 2, h, v),
                {counted(embed + "A", {2, v}), counted(embed + "B", {h, 2})}}),
        R"("r": 2, "lora_alpha": 3, "target_modules": ["embed_tokens", "lm_head"])");
    FloatBackend backend;
    const auto loaded = load_adapter(adapter.file, base.targets, backend);
    const Deltas got = deltas_of(*loaded, base);
    ASSERT_EQ(got.size(), 1u);
    const BoundWeight& head = tied ? base.bound.embedding : base.bound.head;
    expect_equal(got.at(number_of(base, head)), product(adapter.file.pairs[0]), "head");
    const AdapterEmbedding& e = loaded->weights.embedding;
    EXPECT_EQ(e.part.scale, 1.5F);
    ASSERT_EQ(e.a.rows, v);
    ASSERT_EQ(e.part.b.rows, h);
    const AdapterPair& p = adapter.file.pairs[1];
    for (std::int64_t token = 0; token < v; ++token) {
      for (std::int64_t r = 0; r < 2; ++r) {
        EXPECT_EQ(static_cast<double>(FloatBackend::row(e.a, token)[r]),
                  element(*p.a, r * v + token));
      }
    }
    EXPECT_EQ(static_cast<double>(FloatBackend::row(e.part.b, 3)[1]), element(*p.b, 3 * 2 + 1));
  }
}

TEST(Adapter, FusedMatricesHaveOnePairOrOneForEachPiece) {
  const Base base = random_base("phi3");
  const Spec& spec = base.bound.spec;
  const std::int64_t h = spec.hidden, q = spec.layer(0).q_cols(), k = spec.layer(0).k_cols();
  const std::string module = "model.layers.0.self_attn.qkv_proj";
  const TestAdapter fused(pair_of(module, 2, h, q + 2 * k), config_for({module}));
  const Deltas got = loaded_deltas(fused.file, base);
  expect_equal(got.at(number_of(base, base.bound.layers[0].qkv)), product(fused.file.pairs[0]),
               "qkv");
  const Base llama = random_base("llama");
  const LayerSpec& s = llama.bound.spec.layer(0);
  const std::int64_t width = llama.bound.spec.hidden;
  const TestAdapter both(joined({pair_of(module, 2, width, s.q_cols() + s.k_cols() + s.v_cols()),
                                 pair_of("model.layers.0.self_attn.v_proj", 2, width, s.v_cols())}),
                         kAllLinear);
  expect_refused(both.file, llama, "changes the same outputs");
}

TEST(Adapter, WhatTheModelCannotTakeIsRefusedByName) {
  const Base base = random_base("llama");
  const Spec& spec = base.bound.spec;
  const std::int64_t h = spec.hidden, q = spec.layer(0).q_cols();
  const std::string q_proj = "model.layers.0.self_attn.q_proj";
  const auto refused = [&](const std::vector<TestTensor>& tensors, std::string_view config,
                           std::string_view part) {
    expect_refused(TestAdapter(tensors, config).file, base, part);
  };
  refused(pair_of(cat("model.layers.", spec.layers, ".self_attn.q_proj"), 2, h, q), kAllLinear,
          cat("the model has ", spec.layers, " layers"));
  refused(pair_of("model.layers.0.self_attn.qq_proj", 2, h, q), kAllLinear,
          "the model has no such matrix");
  refused(pair_of("model.layers.0.input_layernorm", 2, h, h), kAllLinear,
          "the model has no such matrix");
  refused(pair_of("model.embed_tokens", 2, h, spec.vocab), kAllLinear,
          "its module is an embedding");
  refused({counted("base_model.model.lm_head.lora_embedding_A", {2, spec.vocab}),
           counted("base_model.model.lm_head.lora_embedding_B", {h, 2})},
          kAllLinear, "its module is no embedding");
  refused({counted("base_model.model.model.embed_tokens.lora_embedding_A", {2, spec.vocab + 1}),
           counted("base_model.model.model.embed_tokens.lora_embedding_B", {h, 2})},
          kAllLinear, "but the model");
  refused(joined({pair_of("lm_head", 2, h, spec.vocab),
                  {counted("base_model.model.lm_head.base_layer.weight", {spec.vocab + 1, h})}}),
          kAllLinear, "its shape is not that of the model's matrix");
  const std::int64_t rank = std::min(h, q) + 1;
  refused(pair_of(q_proj, rank, h, q), cat(R"("target_modules": "all-linear", "r": )", rank),
          cat("its rank is ", rank));
  refused(pair_of(q_proj, 2, h, q), R"("r": 2, "target_modules": ["q_proj", "v_proj"])",
          "names model.layers.0.self_attn.v_proj");
  refused(pair_of(q_proj, 2, h, q),
          cat(R"("r": 2, "target_modules": ["q_proj"], "layers_to_transform": [0],
                 "alora_invocation_tokens": [)",
              spec.vocab, "]"),
          cat("invocation token ", spec.vocab));
  const Base deepseek = random_base("deepseek2");
  const TestAdapter latent(pair_of("model.layers.0.self_attn.kv_b_proj", 2, 8, 8), kAllLinear);
  expect_refused(latent.file, deepseek, "multi-head latent attention");
}

/// An adapter with a pair for each linear module of a random model of the family.
std::vector<TestTensor> all_pairs(const Base& base) {
  std::vector<TestTensor> tensors;
  for (const ScopeModule& module : base.targets.scope_modules(kModelPrefix)) {
    const auto found = base.targets.find(Naming::kHuggingFace, module.names.front());
    const bool stacked = found && found->expert < 0 && found->targets->front().experts > 0;
    if (!found || stacked || found->targets->front().embedding) continue;
    const AdapterTarget& target = found->targets->front();
    for (TestTensor& t : pair_of(module.names.front(), 1, target.cols, target.module_rows)) {
      tensors.push_back(std::move(t));
    }
  }
  return tensors;
}

std::vector<TestTensor> without(std::vector<TestTensor> tensors, std::string_view module) {
  std::erase_if(tensors, [&](const TestTensor& t) { return t.name.find(module) != t.name.npos; });
  return tensors;
}

std::string missing(std::string_view module) {
  return cat("the configuration names ", module, ", but the tensors of its pair are missing");
}

TEST(Adapter, EachNamedModuleHasItsPair) {
  const Base base = random_base("qwen2moe");
  const auto check = [&](const std::vector<TestTensor>& tensors, std::string_view targets,
                         std::string_view expected) {
    const TestAdapter adapter(tensors, cat(R"("r": 1, "target_modules": )", targets));
    const std::string message = refusal(adapter.file, base);
    EXPECT_NE(message.find(expected), std::string::npos) << targets << ": " << message;
  };
  const std::vector<TestTensor> all = without(all_pairs(base), "lm_head");
  const std::string layer = "model.layers.1.";
  for (const std::string_view targets :
       {R"("all-linear")", R"~("(?!lm_head|.*embed_tokens).*")~"}) {
    for (const std::string_view module :
         {"self_attn.q_proj", "self_attn.o_proj", "mlp.shared_expert.up_proj",
          "mlp.shared_expert_gate", "mlp.gate", "mlp.experts.1.up_proj"}) {
      check(without(all, cat(layer, module, ".")), targets, missing(cat(layer, module)));
    }
  }
  check(all, R"("all-linear")", "accepted");
  // Newer versions of transformers have no module for a single expert, and no linear router.
  const std::vector<TestTensor> fused = without(without(all, ".experts."), ".mlp.gate.");
  check(fused, R"("all-linear")", "accepted");
  check(without(fused, cat(layer, "mlp.shared_expert.down_proj")), R"("all-linear")",
        missing(cat(layer, "mlp.shared_expert.down_proj")));
  std::vector<TestTensor> half = all;
  for (std::int64_t e = 0; e < base.bound.spec.moe.experts; ++e) {
    half = without(half, cat(".experts.", e, ".down_proj"));
  }
  check(half, R"("all-linear")", missing("model.layers.0.mlp.experts.0.down_proj"));
  // A name in a list asks for the embedding, the head and the routers too.
  const std::vector<TestTensor> q = pair_of(layer + "self_attn.q_proj", 1, base.bound.spec.hidden,
                                            base.bound.spec.layer(1).q_cols());
  const auto check_list = [&](std::string_view name, std::string_view expected) {
    check(q, cat(R"(["layers.1.self_attn.q_proj", ")", name, R"("])"), expected);
  };
  check_list("embed_tokens", missing("model.embed_tokens"));
  check_list("lm_head", missing("lm_head"));
  check_list("mlp.gate", missing("model.layers.0.mlp.gate"));
  check_list("mlp.gate_proj", "accepted");  // no module has this name
  check_list("experts.0.gate_proj", "accepted");
}

TEST(Adapter, BackbonesHaveNoHead) {
  const Base base = random_base("llama");
  const std::int64_t h = base.bound.spec.hidden, q = base.bound.spec.layer(0).q_cols();
  const auto file = [&](const std::string& module) {
    return TestAdapter(pair_of(module, 2, h, q), config_for({module, "lm_head"}));
  };
  expect_refused(file("model.layers.0.self_attn.q_proj").file, base, missing("lm_head"));
  expect_refused(file("layers.0.self_attn.q_proj").file, base, "accepted");
}

TEST(Adapter, NamedParametersHaveTheirPairs) {
  const Base base = random_base("qwen3moe");
  const Spec& spec = base.bound.spec;
  const std::int64_t h = spec.hidden, f = spec.moe.ffn, n = spec.moe.experts;
  const auto config = [](std::string_view name) { return parameter_config(name, "0.19.0"); };
  const auto pairs = [&](std::int64_t layers) {
    std::vector<TestTensor> tensors;
    for (std::int64_t i = 0; i < layers; ++i) {
      if (!spec.layer(i).sparse) continue;
      for (TestTensor& t : pair_of(cat("model.layers.", i, ".mlp.experts"), 2 * n, f, h)) {
        tensors.push_back(std::move(t));
      }
    }
    return tensors;
  };
  const TestAdapter whole(pairs(spec.layers), config("experts.down_proj"));
  expect_refused(whole.file, base, "accepted");
  const TestAdapter part(pairs(spec.layers - 1), config("experts.down_proj"));
  expect_refused(part.file, base,
                 missing(cat("model.layers.", spec.layers - 1, ".mlp.experts.down_proj")));
  const std::int64_t q = spec.layer(0).q_cols();
  const TestAdapter matrix(pair_of("model.layers.0.self_attn.q_proj", 2, h, q),
                           config("self_attn.q_proj.weight"));
  expect_refused(matrix.file, base, missing("model.layers.1.self_attn.q_proj"));
}

TEST(Adapter, ModulesThatAdaptersCannotChangeAreNamedToo) {
  const Base base = random_base("deepseek2");
  const auto o = base.targets.find(Naming::kHuggingFace, "model.layers.0.self_attn.o_proj");
  const AdapterTarget& target = o->targets->front();
  const TestAdapter adapter(pair_of("model.layers.0.self_attn.o_proj", 2, target.cols, target.rows),
                            config_for({"layers.0.self_attn.o_proj", "kv_b_proj"}));
  expect_refused(adapter.file, base, missing("model.layers.0.self_attn.kv_b_proj"));
}

/// transformers 5.24 has no modules for the keys and values of Gemma 4's layers that share them;
/// 5.5 had modules, which it did not use beside a cache.
TEST(Adapter, PairsOfSharedKeysHaveNoEffect) {
  const Base base = random_base("gemma4");
  const std::int64_t h = base.bound.spec.hidden;
  std::int64_t shared = 0;
  while (base.bound.spec.layer(shared).kv_source < 0) ++shared;
  const LayerSpec& s = base.bound.spec.layer(shared);
  const std::string module = cat("model.layers.", shared, ".self_attn.");
  const auto q = pair_of(module + "q_proj", 2, h, s.q_cols());
  const auto with = [&](std::int64_t k_rows) {
    return joined({q, pair_of(module + "k_proj", 2, h, k_rows),
                   pair_of(module + "v_proj", 2, h, s.v_cols())});
  };
  const TestAdapter adapter(with(s.k_cols()),
                            config_for({module + "q_proj", module + "k_proj", module + "v_proj"}));
  FloatBackend backend;
  const auto loaded = load_adapter(adapter.file, base.targets, backend);
  EXPECT_EQ(loaded->weights.linears.size(), 1u);
  EXPECT_EQ(loaded->bytes, backend.packed_bytes);
  ASSERT_EQ(loaded->warnings.size(), 1u);
  EXPECT_EQ(loaded->warnings[0],
            cat("2 pairs have no effect, the first with tensor base_model.model.", module,
                "k_proj.lora_A.weight: their layers read keys and values of other layers"));
  const TestAdapter named(q, config_for({module + "q_proj", module + "k_proj"}));
  expect_refused(named.file, base, "accepted");  // transformers has no such module
  const TestAdapter wide(with(s.k_cols() + 1),
                         config_for({module + "q_proj", module + "k_proj", module + "v_proj"}));
  expect_refused(wide.file, base, "but the model");
}

TEST(Adapter, LayersThatAreNotLoadedTakeNothing) {
  const Base base = random_base("llama");
  const std::int64_t h = base.bound.spec.hidden, q = base.bound.spec.layer(0).q_cols();
  const TestAdapter adapter(joined({pair_of("model.layers.0.self_attn.q_proj", 2, h, q),
                                    pair_of("model.layers.1.self_attn.q_proj", 2, h, q)}),
                            config_for({"layers.0.self_attn.q_proj", "layers.1.self_attn.q_proj"}));
  const AdapterTargets stage(base.bound, Naming::kGguf, {.first_layer = 1, .last_layer = 2});
  FloatBackend backend;
  const auto loaded = load_adapter(adapter.file, stage, backend);
  ASSERT_EQ(loaded->weights.linears.size(), 1u);
  EXPECT_EQ(loaded->weights.places[0], 0);  // the stage's first weight is qkv of layer 1
}

TEST(Adapter, IdentitiesFollowContents) {
  const std::vector<TestTensor> tensors = pair_of("model.layers.0.self_attn.q_proj", 2, 8, 6);
  const auto identity = [](const std::vector<TestTensor>& t, std::string_view config) {
    return adapter_identity(TestAdapter(t, config).file);
  };
  const AdapterIdentity one = identity(tensors, kAllLinear);
  EXPECT_EQ(identity(tensors, kAllLinear), one);
  std::vector<TestTensor> other = tensors;
  other[1].values[3] += 1;
  EXPECT_NE(identity(other, kAllLinear), one);
  EXPECT_NE(identity(tensors, R"("r": 2, "lora_alpha": 4, "target_modules": "all-linear")"), one);
  EXPECT_NE(identity(tensors, cat(kAllLinear, R"(, "alora_invocation_tokens": [1])")), one);
}

TEST(Adapter, BaseModelsAreComparedByName) {
  AdapterFile file;
  file.name = "a";
  file.base_model = "org/Qwen2.5-0.5B";
  for (const std::string_view same :
       {"", "qwen2.5-0.5b", "/x/Qwen2.5-0.5B/", "Qwen2.5-0.5B-Q4_K_M"}) {
    EXPECT_EQ(base_model_warning(file, same), "") << same;
  }
  EXPECT_EQ(base_model_warning(file, "llama"),
            "adapter a names the base model org/Qwen2.5-0.5B, but the model is llama");
  file.base_model = "";
  EXPECT_EQ(base_model_warning(file, "llama"), "");
}

}  // namespace
}  // namespace ingot::testing_support
