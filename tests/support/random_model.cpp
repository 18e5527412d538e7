// Makes random checkpoints: configurations by family, weights by format.
#include "support/random_model.h"
#include "base/index.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "base/half.h"
#include "base/text.h"
#include "model/family.h"
#include "model/make_spec.h"
#include "quant/formats.h"

namespace ingot::testing_support {

namespace {

/// Small, but whole super-blocks of 256 everywhere a matrix is wide.
Config base_config(std::string_view architecture) {
  Config c;
  c.architecture = architecture;
  c.model_type = architecture;
  c.layers = 4;
  c.hidden = 256;
  c.heads = 4;
  c.kv_heads = 2;
  c.head_dim = 64;
  c.ffn = 256;
  c.context = 256;
  c.norm_eps = 1e-5;
  c.ropes.front().dims = 64;
  c.vocab = 37;
  return c;
}

RopeScaling scaling(RopeScaling::Kind kind, double factor) {
  RopeScaling s;
  s.kind = kind;
  s.factor = factor;
  s.original_context = 32;
  return s;
}

/// Fills a tensor's bytes with random weights of about the given size.
class WeightSource {
 public:
  explicit WeightSource(std::uint64_t seed) : rng_(seed) {}

  float normal() { return std::normal_distribution<float>()(rng_); }

  std::vector<std::byte> matrix(Format format, std::int64_t rows, std::int64_t cols) {
    const float size = 1 / std::sqrt(static_cast<float>(cols));
    std::vector<std::byte> bytes(static_cast<std::size_t>(rows * row_bytes(format, cols)));
    visit_format(format, [&]<class F>() {
      if constexpr (BlockFormat<F>) {
        fill_blocks<F>(bytes, size);
      } else {
        fill_elements<F>(bytes, size);
      }
    });
    return bytes;
  }

 private:
  template <DenseFormat F>
  void fill_elements(std::vector<std::byte>& bytes, float size) {
    for (std::size_t i = 0; i < bytes.size(); i += sizeof(typename F::Element)) {
      const typename F::Element e = F::narrow(normal() * size);
      __builtin_memcpy(bytes.data() + i, &e, sizeof e);
    }
  }

  /// Random bits in every field but the block's scales, which make the weights as large as wanted.
  template <BlockFormat F>
  void fill_blocks(std::vector<std::byte>& bytes, float size) {
    for (std::size_t i = 0; i < bytes.size(); i += sizeof(typename F::Block)) {
      typename F::Block block;
      for (std::byte& b : std::as_writable_bytes(std::span(&block, 1))) b = std::byte(rng_());
      set_scale(block, 1);
      set_scale(block, size / rms<F>(block));
      __builtin_memcpy(bytes.data() + i, &block, sizeof block);
    }
  }

  template <class Block>
  static void set_scale(Block& block, float d) {
    if constexpr (requires { block.e; }) {
      block.e = static_cast<std::uint8_t>(128 + std::lround(std::log2(d)));
    } else {
      block.d = float_to_half(d);
    }
    if constexpr (requires { block.m; }) block.m = float_to_half(-d * 7);
    if constexpr (requires { block.dmin; }) block.dmin = float_to_half(d * 3);
  }

  template <BlockFormat F>
  static float rms(const typename F::Block& block) {
    float w[F::kBlock];
    decode_row(F::kFormat, reinterpret_cast<const std::byte*>(&block), F::kBlock, w);
    float sum = 0;
    for (const float v : w) sum += v * v;
    return std::sqrt(sum / F::kBlock) + 1e-3f;
  }

  std::mt19937_64 rng_;
};

/// The shapes of a model's tensors by role. A role that the model or the layer lacks has no shape.
class Shapes {
 public:
  using Shape = std::vector<std::int64_t>;

  explicit Shapes(const Config& config) : c_(config), s_(make_spec(config, 0)) {}

  /// The shape of a tensor that a model has once.
  Shape of_model(TensorRole role) const {
    const std::int64_t h = c_.hidden, inputs = c_.layers * c_.layer_input;
    switch (role) {
      case R::kEmbedding:
        return {c_.vocab, h};
      case R::kHead:
        return c_.tied.value_or(false) ? Shape{} : Shape{c_.vocab, h};
      case R::kFinalNorm:
      case R::kFinalNormBias:
      case R::kEmbeddingNorm:
      case R::kEmbeddingNormBias:
        return {h};
      case R::kPositions:
        return {c_.context + c_.position_offset, h};
      case R::kTypes:
        return {2, h};
      case R::kRelativeBias:
        return {c_.relative_buckets, c_.heads};
      case R::kLayerEmbedding:
        return {c_.vocab, inputs};
      case R::kLayerProjection:
        return {inputs, h};
      case R::kLayerProjectionNorm:
        return {c_.layer_input};
      default:
        return {};
    }
  }

  /// The shape of a tensor of layer `i`.
  Shape of_layer(TensorRole role, std::int64_t i) const {
    if (const Shape shape = of_attention(role, s_.layer(i)); !shape.empty()) return shape;
    if (const Shape shape = of_latents(role, s_.layer(i)); !shape.empty()) return shape;
    return s_.layer(i).sparse ? of_experts(role) : of_ffn(role, s_.layer(i));
  }

 private:
  using R = TensorRole;

  Shape of_attention(TensorRole role, const LayerSpec& l) const {
    const std::int64_t h = c_.hidden, d = l.head_dim;
    const bool own = l.kv_source < 0;
    switch (role) {
      case R::kAttnNorm:
      case R::kAttnNormBias:
      case R::kAttnOutNorm:
      case R::kAttnPostNorm:
      case R::kAttnPostNormBias:
      case R::kFfnOutNorm:
      case R::kFfnPostNorm:
      case R::kFfnPostNormBias:
      case R::kLayerInputNorm:
      case R::kAttnOutBias:
        return {h};
      case R::kFfnNorm:
      case R::kFfnNormBias:
        return c_.parallel_residual ? Shape{} : Shape{h};
      case R::kQkv:
        return {l.q_cols() + l.k_cols() + l.v_cols(), h};
      case R::kQ:
        return c_.mla.kv_rank > 0 ? Shape{} : Shape{l.q_cols(), h};
      case R::kK:
        return own ? Shape{l.k_cols(), h} : Shape{};
      case R::kV:
        return own && !l.values_from_keys ? Shape{l.v_cols(), h} : Shape{};
      case R::kQBias:
        return {l.q_cols()};
      case R::kKBias:
        return {l.k_cols()};
      case R::kVBias:
        return {l.v_cols()};
      case R::kAttnOut:
        return {h,
                c_.mla.kv_rank > 0 ? l.heads * c_.mla.value : std::int64_t{l.heads} * l.value_dim};
      case R::kQNorm:
        return {d};
      case R::kKNorm:
        return own ? Shape{d} : Shape{};
      case R::kQNormWide:
        return {l.q_cols()};
      case R::kKNormWide:
        return {l.k_cols()};
      case R::kQNormEach:
        return {l.heads, d};
      case R::kKNormEach:
        return {l.kv_heads, d};
      case R::kSinks:
        return {l.heads};
      default:
        return {};
    }
  }

  Shape of_latents(TensorRole role, const LayerSpec& l) const {
    const MlaSizes& m = c_.mla;
    if (m.kv_rank == 0) return {};
    switch (role) {
      case R::kQDown:
        return {m.q_rank, c_.hidden};
      case R::kQDownNorm:
        return {m.q_rank};
      case R::kQUp:
        return {l.heads * (m.nope + m.rope), m.q_rank};
      case R::kKvDown:
        return {m.kv_rank + m.rope, c_.hidden};
      case R::kKvDownNorm:
        return {m.kv_rank};
      case R::kKUp:
        return {l.heads, m.kv_rank, m.nope};
      case R::kVUp:
        return {l.heads, m.value, m.kv_rank};
      default:
        return {};
    }
  }

  Shape of_ffn(TensorRole role, const LayerSpec& l) const {
    const std::int64_t h = c_.hidden;
    switch (role) {
      case R::kGateUp:
        return {2 * l.ffn, h};
      case R::kGate:
      case R::kUp:
        return {l.ffn, h};
      case R::kDown:
        return {h, l.ffn};
      case R::kGateBias:
      case R::kUpBias:
        return {l.ffn};
      case R::kDownBias:
        return {h};
      case R::kLayerInputGate:
        return {c_.layer_input, h};
      case R::kLayerInputOut:
        return {h, c_.layer_input};
      case R::kLayerScalar:
        return {1};
      default:
        return {};
    }
  }

  Shape of_experts(TensorRole role) const {
    const std::int64_t h = c_.hidden, e = c_.experts, f = c_.expert_ffn;
    const std::int64_t shared = c_.shared_ffn;
    switch (role) {
      case R::kRouter:
        return {e, h};
      case R::kRouterBias:
      case R::kSelectionBias:
        return {e};
      case R::kExpertGate:
      case R::kExpertUp:
        return {e, f, h};
      case R::kExpertDown:
        return {e, h, f};
      case R::kExpertGateBias:
      case R::kExpertUpBias:
        return {e, f};
      case R::kExpertDownBias:
        return {e, h};
      case R::kSharedGate:
      case R::kSharedUp:
        return shared == 0 ? Shape{} : Shape{shared, h};
      case R::kSharedDown:
        return shared == 0 ? Shape{} : Shape{h, shared};
      case R::kSharedRouter:
        return {1, h};
      default:
        return {};
    }
  }

  Config c_;
  Spec s_;
};

/// Whether a tensor's elements are factors around 1. Others are around 0.
bool is_norm_weight(TensorRole role) {
  switch (role) {
    case TensorRole::kEmbeddingNorm:
    case TensorRole::kLayerProjectionNorm:
    case TensorRole::kFinalNorm:
    case TensorRole::kAttnNorm:
    case TensorRole::kQNorm:
    case TensorRole::kKNorm:
    case TensorRole::kQNormWide:
    case TensorRole::kKNormWide:
    case TensorRole::kQNormEach:
    case TensorRole::kKNormEach:
    case TensorRole::kQDownNorm:
    case TensorRole::kKvDownNorm:
    case TensorRole::kAttnOutNorm:
    case TensorRole::kAttnPostNorm:
    case TensorRole::kFfnNorm:
    case TensorRole::kFfnOutNorm:
    case TensorRole::kFfnPostNorm:
    case TensorRole::kLayerInputNorm:
    case TensorRole::kLayerScalar:
      return true;
    default:
      return false;
  }
}

/// Whether files store a tensor of several rows in floats, whatever their format is.
bool is_exact(TensorRole role) {
  switch (role) {
    case TensorRole::kRouter:
    case TensorRole::kSharedRouter:
    case TensorRole::kPositions:
    case TensorRole::kTypes:
    case TensorRole::kRelativeBias:
    case TensorRole::kQNormEach:
    case TensorRole::kKNormEach:
    case TensorRole::kExpertGateBias:
    case TensorRole::kExpertUpBias:
    case TensorRole::kExpertDownBias:
      return true;
    default:
      return false;
  }
}

/// A GGUF model with every tensor that its family requires, and the optional ones of the case.
class RandomCheckpoint final : public EditableCheckpoint {
 public:
  RandomCheckpoint(const RandomModel& model, std::uint64_t seed)
      : model_(model),
        family_(find_family(model.config.architecture, model.name)),
        shapes_(model.config),
        weights_(seed) {
    name_ = cat("random ", model.name);
    config_ = model.config;
    for (const RoleRule& rule : family_.roles) add(rule, shapes_.of_model(rule.role), 0);
    for (std::int64_t i = 0; i < config_.layers; ++i) {
      for (const RoleRule& rule : family_.roles) {
        if (shapes_.of_model(rule.role).empty()) add(rule, shapes_.of_layer(rule.role, i), i);
      }
    }
    place();
  }

 private:
  bool has(const RoleRule& rule) const {
    if (rule.presence == Presence::kRequired || rule.role == TensorRole::kEmbedding ||
        rule.role == TensorRole::kFinalNorm || rule.role == TensorRole::kHead) {
      return true;
    }
    const auto& more = model_.optional;
    return std::find(more.begin(), more.end(), rule.role) != more.end();
  }

  void add(const RoleRule& rule, const std::vector<std::int64_t>& shape, std::int64_t layer) {
    const std::string name = family_.tensor_name(rule.role, config_.naming, layer);
    if (shape.empty() || name.empty() || !has(rule)) return;
    const bool matrix = shape.size() > 1 && !is_exact(rule.role);
    const Format format = matrix ? format_of(rule.role, shape.back()) : F32::kFormat;
    std::int64_t rows = 1;
    for (const std::int64_t dim : shape) rows *= dim;
    rows /= shape.back();
    TensorInfo t;
    t.name = name;
    t.shape = shape;
    t.type_name = format_name(format);
    t.format = format;
    tensors_.push_back(std::move(t));
    storage_[name] = matrix || rule.role == TensorRole::kRouter
                         ? weights_.matrix(format, rows, shape.back())
                         : floats(rows * shape.back(), is_norm_weight(rule.role) ? 1.0f : 0.0f);
  }

  /// The model's format, unless rows of a narrow matrix do not divide into its blocks.
  Format format_of(TensorRole role, std::int64_t cols) const {
    Format format = model_.format;
    if (model_.mixed && role == TensorRole::kK) format = Q6_K::kFormat;
    if (model_.mixed && (role == TensorRole::kV || role == TensorRole::kUp)) format = Q8_0::kFormat;
    return cols % format_info(format).block == 0 ? format : F32::kFormat;
  }

  std::vector<std::byte> floats(std::int64_t n, float mean) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(n) * sizeof(float));
    for (std::int64_t i = 0; i < n; ++i) {
      const float v = mean + 0.1f * weights_.normal();
      __builtin_memcpy(bytes.data() + i * std::int64_t{sizeof v}, &v, sizeof v);
    }
    return bytes;
  }

  RandomModel model_;
  const Family& family_;
  Shapes shapes_;
  WeightSource weights_;
};

}  // namespace

TensorInfo& EditableCheckpoint::get(const std::string& tensor) {
  const auto at = std::find_if(tensors_.begin(), tensors_.end(),
                               [&](const TensorInfo& t) { return t.name == tensor; });
  INGOT_CHECK(at != tensors_.end(), "no tensor ", tensor);
  return *at;
}

void EditableCheckpoint::place() {
  for (TensorInfo& t : tensors_) {
    t.data = storage_.at(t.name).data();
    t.bytes = storage_.at(t.name).size();
  }
  index_tensors();
}

void EditableCheckpoint::remove(const std::string& tensor) {
  tensors_.erase(tensors_.begin() + (&get(tensor) - tensors_.data()));
  place();
}

void EditableCheckpoint::rename(const std::string& tensor, const std::string& name) {
  storage_[name] = storage_.at(tensor);
  get(tensor).name = name;
  place();
}

void EditableCheckpoint::reshape(const std::string& tensor, std::vector<std::int64_t> shape) {
  get(tensor).shape = std::move(shape);
}

void EditableCheckpoint::retype(const std::string& tensor, std::optional<Format> format,
                                std::string type_name) {
  get(tensor).format = format;
  get(tensor).type_name = std::move(type_name);
}

void EditableCheckpoint::duplicate(const std::string& tensor, const std::string& name) {
  TensorInfo copy = get(tensor);
  storage_[name] = storage_.at(tensor);
  copy.name = name;
  tensors_.push_back(std::move(copy));
  place();
}

void EditableCheckpoint::flip_bit(const std::string& tensor) {
  storage_.at(tensor).back() ^= std::byte{1};
}

void EditableCheckpoint::fill(const std::string& tensor, std::byte value) {
  std::fill(storage_.at(tensor).begin(), storage_.at(tensor).end(), value);
}

void EditableCheckpoint::fill_row(const std::string& tensor, std::int64_t row, std::byte value) {
  auto& bytes = storage_.at(tensor);
  const std::int64_t size = std::ssize(bytes) / get(tensor).shape.front();
  std::fill_n(bytes.begin() + row * size, size, value);
}

namespace {

using R = TensorRole;

/// Adds a case by its name and configuration.
using AddCase = std::function<RandomModel&(std::string_view name, const Config& config)>;

/// Two norms for each sublayer, caps, factors, windows, and two rotary embeddings.
Config gemma3_config() {
  Config c = base_config("gemma3");
  c.activation = Activation::kGeluTanh;
  c.tied = true;
  c.window = {8, 0, 8, 0};
  c.ropes.push_back(c.ropes.front());
  c.ropes.back().scaling = scaling(RopeScaling::Kind::kLinear, 4);
  c.rope_layer = {0, 1, 0, 1};
  c.score_cap = 3;
  c.logit_cap = 2;
  c.attention_scale = 0.2;
  c.embed_scale = 4;
  return c;
}

/// A parallel residual, layer norms, and layers without rotation.
Config command_r_config() {
  Config c = base_config("command-r");
  c.norm = Normalisation::kLayer;
  c.parallel_residual = true;
  c.logit_scale = 0.25;
  c.ropes.front().style = RopeStyle::kAdjacent;
  c.rope_layer = {0, 0, -1, 0};
  c.window = {0, 20, 0, 0};
  return c;
}

/// Layers of different shapes, with inputs of their own; some read the keys of others.
Config gemma4_config() {
  Config c = base_config("gemma4");
  c.activation = Activation::kGeluTanh;
  c.tied = true;
  c.v_norm = true;
  c.attention_scale = 1;
  c.layer_input = 32;
  c.window = {8, 0, 8, 0};
  c.kv_source = {-1, -1, 0, 1};
  c.values_from_keys = {false, true, false, false};
  c.ropes.push_back(c.ropes.front());
  c.ropes.back().dims = 128;
  c.ropes.back().scaling = scaling(RopeScaling::Kind::kProportional, 1);
  c.ropes.back().scaling.pairs = 16;
  c.rope_layer = {0, 1, 0, 1};
  for (std::int64_t i = 0; i < c.layers; ++i) {
    c.sizes.push_back(
        {.heads = 4, .kv_heads = 2, .head_dim = i % 2 == 0 ? 64 : 128, .ffn = i < 2 ? 256 : 512});
  }
  return c;
}

void add_decoders(const AddCase& add) {
  add("gemma3", gemma3_config());
  add("command-r", command_r_config()).optional = {R::kQNormEach, R::kKNormEach};

  Config stablelm = base_config("stablelm");
  stablelm.norm = Normalisation::kLayer;
  stablelm.ropes.front().dims = 16;
  add("stablelm", stablelm);

  Config starcoder2 = base_config("starcoder2");
  starcoder2.norm = Normalisation::kLayer;
  starcoder2.activation = Activation::kGeluTanh;
  starcoder2.gated = false;
  add("starcoder2", starcoder2).optional = {R::kQBias,       R::kKBias,  R::kVBias,
                                            R::kAttnOutBias, R::kUpBias, R::kDownBias};

  Config olmo2 = base_config("olmo2");
  olmo2.residual_scale = 0.7;
  olmo2.qk_norm_after_rope = true;
  add("olmo2", olmo2);

  Config phi3 = base_config("phi3");
  phi3.ropes.front().dims = 48;
  phi3.ropes.front().scaling = scaling(RopeScaling::Kind::kLongrope, 8);
  phi3.ropes.front().scaling.short_factors.assign(24, 1.25);
  phi3.ropes.front().scaling.long_factors.assign(24, 4);
  add("phi3", phi3);

  add("gemma4", gemma4_config());
}

void set_experts(Config& c) {
  c.experts = 4;
  c.experts_used = 2;
  c.expert_ffn = 256;
}

void add_experts(const AddCase& add) {
  Config gpt_oss = base_config("gpt-oss");
  set_experts(gpt_oss);
  gpt_oss.activation = Activation::kGptOss;
  gpt_oss.window = {8, 0, 8, 0};
  add("gpt-oss", gpt_oss).optional = {R::kQBias, R::kKBias, R::kVBias, R::kAttnOutBias};

  Config qwen2moe = base_config("qwen2moe");
  set_experts(qwen2moe);
  qwen2moe.shared_ffn = 256;
  qwen2moe.router.renormalise = false;
  add("qwen2moe", qwen2moe);

  Config deepseek = base_config("deepseek2");
  set_experts(deepseek);
  deepseek.shared_ffn = 256;
  deepseek.dense_layer = {true, false, false, false};
  deepseek.router = {.sigmoid = true,
                     .renormalise = true,
                     .scale = 2.5,
                     .groups = 2,
                     .groups_used = 1,
                     .groups_by_two_best = true};
  deepseek.mla = {.q_rank = 256, .kv_rank = 64, .nope = 32, .rope = 32, .value = 64};
  deepseek.ropes.front().dims = 32;
  deepseek.ropes.front().style = RopeStyle::kAdjacent;
  add("deepseek2", deepseek).optional = {R::kKUp, R::kSelectionBias};
}

}  // namespace

std::vector<RandomModel> random_models(Format format) {
  std::vector<RandomModel> models;
  const auto add = [&](std::string_view name, const Config& config) -> RandomModel& {
    return models.emplace_back(RandomModel{
        .name = cat(name, " ", format_name(format)), .config = config, .format = format});
  };
  Config llama = base_config("llama");
  llama.ropes.front().style = RopeStyle::kAdjacent;
  llama.ropes.front().scaling = scaling(RopeScaling::Kind::kYarn, 4);
  add("llama", llama).mixed = true;

  Config mistral = base_config("llama");
  mistral.window = {8, 0, 8, 0};
  mistral.ropes.front().scaling = scaling(RopeScaling::Kind::kLlama3, 8);
  add("mistral", mistral);

  add("qwen2", base_config("qwen2"));

  Config qwen3 = base_config("qwen3");
  qwen3.tied = true;
  qwen3.kv_heads = 1;
  add("qwen3", qwen3).optional = {R::kQNorm, R::kKNorm};

  Config moe = base_config("qwen3moe");
  moe.experts = 4;
  moe.experts_used = 2;
  moe.expert_ffn = 256;
  moe.dense_layer = {true, false, true, false};
  add("qwen3moe", moe).optional = {R::kQNorm, R::kKNorm};

  add_decoders(add);
  add_experts(add);
  return models;
}

std::vector<RandomModel> random_models_in_turn(std::span<const Format> formats) {
  std::vector<RandomModel> models;
  const std::size_t count = random_models(formats.front()).size();
  for (std::size_t i = 0; i < count; ++i) {
    models.push_back(random_models(formats[i % formats.size()])[i]);
  }
  return models;
}

std::unique_ptr<EditableCheckpoint> make_checkpoint(const RandomModel& model, std::uint64_t seed) {
  return std::make_unique<RandomCheckpoint>(model, seed);
}

}  // namespace ingot::testing_support
