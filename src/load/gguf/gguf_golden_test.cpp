// Shared GGUF files of all families: each opens, and has the hyper-parameters of the Hugging Face
// folder from which it was made.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/index.h"
#include "base/shared_data_test_util.h"
#include "base/text.h"
#include "load/checkpoint.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

/// What GGUF cannot say of a model, so that the folder alone states it.
struct Unstated {
  std::string_view name;
  bool attention_scale = false;   ///< the file's weights include it
  bool attention_factor = false;  ///< the factor that YaRN has
  bool truncate = false;
  bool windows = false;
  bool activation = false;
  bool normalise = false;
  bool mtp_layers = false;
};

constexpr Unstated kUnstated[] = {
    {.name = "gemma2", .attention_scale = true},
    {.name = "gemma3_text", .attention_scale = true},
    {.name = "gpt_oss", .truncate = true},
    {.name = "starcoder2", .windows = true},
    {.name = "deepseek_v2-lite", .attention_factor = true},
    {.name = "deepseek_v3", .mtp_layers = true},
    {.name = "bert-gelu_new-last", .activation = true, .normalise = true},
    {.name = "bert-cls-raw", .normalise = true},
    {.name = "modernbert-mean-raw", .normalise = true},
};

Unstated unstated_of(std::string_view name) {
  for (const Unstated& row : kUnstated) {
    if (row.name == name) return row;
  }
  return {.name = name};
}

/// GGUF stores 32-bit floats.
void expect_near(double gguf, double hf, const char* what) {
  EXPECT_NEAR(gguf, hf, 1e-6 * std::abs(hf)) << what;
}

bool is_windowed(const Config& c, std::int64_t layer) {
  return !c.window.empty() && at(c.window, layer) > 0;
}

LayerSizes sizes_of(const Config& c, std::int64_t layer) {
  if (!c.sizes.empty()) return at(c.sizes, layer);
  return {.heads = c.heads, .kv_heads = c.kv_heads, .head_dim = c.head_dim, .ffn = c.ffn};
}

/// The layer's rotary embedding; null if it does not rotate.
const RopeConfig* rope_of(const Config& c, std::int64_t layer) {
  const std::int32_t index = c.rope_layer.empty() ? 0 : at(c.rope_layer, layer);
  return index < 0 ? nullptr : &at(c.ropes, index);
}

double attention_factor(const RopeScaling& s) {
  if (s.attention_factor) return *s.attention_factor;
  if (s.kind == RopeScaling::Kind::kYarn) return 0.1 * std::log(s.factor) + 1;
  if (s.kind == RopeScaling::Kind::kLongrope) {
    return std::sqrt(1 + std::log(s.factor) / std::log(s.original_context));
  }
  return 1;
}

void expect_same_scaling(const RopeScaling& gguf, const RopeScaling& hf, const Unstated& unstated) {
  using Kind = RopeScaling::Kind;
  ASSERT_EQ(gguf.kind, hf.kind);
  if (gguf.kind == Kind::kNone) return;
  expect_near(gguf.factor, hf.factor, "factor");
  if (gguf.kind == Kind::kLinear) return;
  EXPECT_EQ(gguf.original_context, hf.original_context);
  if (!unstated.attention_factor) {
    expect_near(attention_factor(gguf), attention_factor(hf), "attention factor");
  }
  if (gguf.kind != Kind::kYarn) return;
  expect_near(gguf.beta_fast, hf.beta_fast, "beta_fast");
  expect_near(gguf.beta_slow, hf.beta_slow, "beta_slow");
  if (!unstated.truncate) {
    EXPECT_EQ(gguf.truncate, hf.truncate);
  }
}

void expect_same_layer(const Config& gguf, const Config& hf, std::int64_t layer,
                       const Unstated& unstated) {
  const LayerSizes a = sizes_of(gguf, layer);
  const LayerSizes b = sizes_of(hf, layer);
  const bool is_dense = hf.experts == 0 || (!hf.dense_layer.empty() && at(hf.dense_layer, layer));
  EXPECT_EQ(a.heads, b.heads);
  if (gguf.mla.kv_rank == 0) {
    EXPECT_EQ(a.kv_heads, b.kv_heads);
    EXPECT_EQ(a.head_dim, b.head_dim);
  }
  if (is_dense) {
    EXPECT_EQ(a.ffn, b.ffn);
  }
  if (!unstated.windows) {
    EXPECT_EQ(is_windowed(gguf, layer), is_windowed(hf, layer));
    if (is_windowed(hf, layer)) {
      EXPECT_EQ(at(gguf.window, layer), at(hf.window, layer));
    }
  }
  const bool dense = !gguf.dense_layer.empty() && at(gguf.dense_layer, layer);
  EXPECT_EQ(dense, !hf.dense_layer.empty() && at(hf.dense_layer, layer));

  const RopeConfig* mine = rope_of(gguf, layer);
  const RopeConfig* other = rope_of(hf, layer);
  ASSERT_EQ(mine == nullptr, other == nullptr);
  if (mine == nullptr) return;
  expect_near(mine->theta, other->theta, "theta");
  EXPECT_EQ(mine->dims, other->dims);
  expect_same_scaling(mine->scaling, other->scaling, unstated);
}

void expect_same_experts(const Config& gguf, const Config& hf) {
  EXPECT_EQ(gguf.experts, hf.experts);
  EXPECT_EQ(gguf.experts_used, hf.experts_used);
  EXPECT_EQ(gguf.shared_ffn, hf.shared_ffn);
  if (hf.experts == 0) return;
  EXPECT_EQ(gguf.expert_ffn, hf.expert_ffn);
  EXPECT_EQ(gguf.router.sigmoid, hf.router.sigmoid);
  EXPECT_EQ(gguf.router.renormalise, hf.router.renormalise);
  expect_near(gguf.router.scale, hf.router.scale, "router scale");
  EXPECT_EQ(gguf.router.groups, hf.router.groups);
  EXPECT_EQ(gguf.router.groups_used, hf.router.groups_used);
  if (hf.router.groups > 1) {
    EXPECT_EQ(gguf.router.groups_by_two_best, hf.router.groups_by_two_best);
  }
}

void expect_same_attention(const Config& gguf, const Config& hf, const Unstated& unstated) {
  EXPECT_EQ(gguf.causal, hf.causal);
  if (!unstated.attention_scale) {
    const auto scale = [](const Config& c) {
      return c.attention_scale.value_or(1 / std::sqrt(static_cast<double>(c.head_dim)));
    };
    expect_near(scale(gguf), scale(hf), "attention scale");
  }
  expect_near(gguf.score_cap, hf.score_cap, "score cap");
  EXPECT_EQ(gguf.qk_norm_after_rope, hf.qk_norm_after_rope);
  EXPECT_EQ(gguf.v_norm, hf.v_norm);
  EXPECT_EQ(gguf.mla.q_rank, hf.mla.q_rank);
  EXPECT_EQ(gguf.mla.kv_rank, hf.mla.kv_rank);
  EXPECT_EQ(gguf.mla.nope, hf.mla.nope);
  EXPECT_EQ(gguf.mla.rope, hf.mla.rope);
  EXPECT_EQ(gguf.mla.value, hf.mla.value);
}

void expect_same_model(const Config& gguf, const Config& hf, const Unstated& unstated) {
  EXPECT_EQ(gguf.architecture, hf.architecture);
  ASSERT_EQ(gguf.layers, hf.layers);
  EXPECT_EQ(gguf.hidden, hf.hidden);
  EXPECT_EQ(gguf.context, hf.context);
  EXPECT_EQ(gguf.norm, hf.norm);
  expect_near(gguf.norm_eps, hf.norm_eps, "epsilon");
  if (!unstated.activation) {
    EXPECT_EQ(gguf.activation, hf.activation);
  }
  EXPECT_EQ(gguf.gated, hf.gated);
  EXPECT_EQ(gguf.parallel_residual, hf.parallel_residual);
  expect_near(gguf.residual_scale, hf.residual_scale, "residual scale");
  expect_near(gguf.embed_scale, hf.embed_scale, "embedding scale");
  expect_near(gguf.logit_scale, hf.logit_scale, "logit scale");
  expect_near(gguf.logit_cap, hf.logit_cap, "logit cap");
  if (!unstated.mtp_layers) {
    EXPECT_EQ(gguf.mtp_layers, hf.mtp_layers);
  }
  EXPECT_EQ(gguf.layer_input, hf.layer_input);
  EXPECT_EQ(gguf.kv_source, hf.kv_source);
  EXPECT_EQ(gguf.pooling, hf.pooling);
  if (!unstated.normalise) {
    EXPECT_EQ(gguf.normalise, hf.normalise);
  }
  EXPECT_EQ(gguf.labels, hf.labels);
  expect_same_attention(gguf, hf, unstated);
  expect_same_experts(gguf, hf);
  for (std::int64_t layer = 0; layer < hf.layers; ++layer) {
    SCOPED_TRACE(cat("layer ", layer));
    expect_same_layer(gguf, hf, layer, unstated);
  }
}

/// Compares each file of `files` with the folder of the same name in `folders`.
void compare(const std::string& files, const std::string& folders) {
  std::vector<fs::path> paths;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(shared_folder(files), none)) {
    if (entry.path().extension() == ".gguf") paths.push_back(entry.path());
  }
  if (paths.empty()) GTEST_SKIP() << "no shared GGUF files: set INGOT_SHARED";
  std::sort(paths.begin(), paths.end());
  for (const fs::path& path : paths) {
    const std::string name = path.stem();
    SCOPED_TRACE(name);
    const auto gguf = Checkpoint::open(path);
    EXPECT_TRUE(gguf->warnings().empty());
    const auto hf = Checkpoint::open(shared_folder(folders) / name);
    expect_same_model(gguf->config(), hf->config(), unstated_of(name));
  }
}

TEST(GgufGolden, decoders_have_the_hyper_parameters_of_their_folders) {
  compare("references/families-gguf", "references/families");
}

TEST(GgufGolden, encoders_have_the_hyper_parameters_of_their_folders) {
  compare("references/encoders-gguf", "references/embeddings");
}

}  // namespace
}  // namespace ingot
