// Makes random checkpoints: configurations by family, weights by format.
#include "support/random_model.h"
#include "base/index.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "base/half.h"
#include "base/text.h"
#include "model/names.h"
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

class RandomCheckpoint final : public EditableCheckpoint {
 public:
  RandomCheckpoint(const RandomModel& model, std::uint64_t seed) : model_(model), weights_(seed) {
    name_ = cat("random ", model.name);
    config_ = model.config;
    add_ends();
    for (std::int64_t i = 0; i < config_.layers; ++i) add_layer(i);
    place();
  }

 private:
  void add(TensorRole role, std::vector<std::int64_t> shape, Format format,
           std::vector<std::byte> bytes, std::int64_t layer, std::int64_t expert) {
    TensorInfo t;
    t.name = tensor_name(role, config_.naming, layer, expert);
    t.shape = std::move(shape);
    t.type_name = format_name(format);
    t.format = format;
    tensors_.push_back(std::move(t));
    storage_[tensors_.back().name] = std::move(bytes);
  }

  void add_matrix(TensorRole role, std::int64_t rows, std::int64_t cols, std::int64_t layer = 0,
                  std::int64_t expert = 0) {
    Format format = model_.format;
    if (model_.mixed && role == TensorRole::kK) format = Q6_K::kFormat;
    if (model_.mixed && (role == TensorRole::kV || role == TensorRole::kUp)) format = Q8_0::kFormat;
    add(role, {rows, cols}, format, weights_.matrix(format, rows, cols), layer, expert);
  }

  void add_stack(TensorRole role, std::int64_t rows, std::int64_t cols, std::int64_t layer) {
    const std::int64_t experts = config_.experts;
    add(role, {experts, rows, cols}, model_.format,
        weights_.matrix(model_.format, experts * rows, cols), layer, 0);
  }

  void add_vector(TensorRole role, std::int64_t n, float mean, std::int64_t layer = 0) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(n) * sizeof(float));
    for (std::int64_t i = 0; i < n; ++i) {
      const float v = mean + 0.1f * weights_.normal();
      __builtin_memcpy(bytes.data() + i * std::int64_t{sizeof v}, &v, sizeof v);
    }
    add(role, {n}, F32::kFormat, std::move(bytes), layer, 0);
  }

  void add_ends() {
    add_matrix(TensorRole::kEmbedding, config_.vocab, config_.hidden);
    add_vector(TensorRole::kFinalNorm, config_.hidden, 1);
    if (!config_.tied.value_or(false)) add_matrix(TensorRole::kHead, config_.vocab, config_.hidden);
  }

  void add_layer(std::int64_t i) {
    const Config& c = config_;
    const std::int64_t q = c.heads * c.head_dim;
    const std::int64_t kv = c.kv_heads * c.head_dim;
    add_vector(TensorRole::kAttnNorm, c.hidden, 1, i);
    add_vector(TensorRole::kFfnNorm, c.hidden, 1, i);
    add_matrix(TensorRole::kQ, q, c.hidden, i);
    add_matrix(TensorRole::kK, kv, c.hidden, i);
    add_matrix(TensorRole::kV, kv, c.hidden, i);
    add_matrix(TensorRole::kAttnOut, c.hidden, q, i);
    if (model_.biases) {
      add_vector(TensorRole::kQBias, q, 0, i);
      add_vector(TensorRole::kKBias, kv, 0, i);
      add_vector(TensorRole::kVBias, kv, 0, i);
    }
    if (model_.qk_norms) {
      add_vector(TensorRole::kQNorm, c.head_dim, 1, i);
      add_vector(TensorRole::kKNorm, c.head_dim, 1, i);
    }
    const bool dense = c.experts == 0 || (!c.dense_layer.empty() && at(c.dense_layer, i));
    if (dense) {
      add_matrix(TensorRole::kGate, c.ffn, c.hidden, i);
      add_matrix(TensorRole::kUp, c.ffn, c.hidden, i);
      add_matrix(TensorRole::kDown, c.hidden, c.ffn, i);
      return;
    }
    const std::vector<std::byte> router = weights_.matrix(F32::kFormat, c.experts, c.hidden);
    add(TensorRole::kRouter, {c.experts, c.hidden}, F32::kFormat, router, i, 0);
    add_stack(TensorRole::kExpertGate, c.expert_ffn, c.hidden, i);
    add_stack(TensorRole::kExpertUp, c.expert_ffn, c.hidden, i);
    add_stack(TensorRole::kExpertDown, c.hidden, c.expert_ffn, i);
  }

  RandomModel model_;
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

  add("qwen2", base_config("qwen2")).biases = true;

  Config qwen3 = base_config("qwen3");
  qwen3.tied = true;
  qwen3.kv_heads = 1;
  add("qwen3", qwen3).qk_norms = true;

  Config moe = base_config("qwen3moe");
  moe.experts = 4;
  moe.experts_used = 2;
  moe.expert_ffn = 256;
  moe.dense_layer = {true, false, true, false};
  add("qwen3moe", moe).qk_norms = true;
  return models;
}

std::unique_ptr<EditableCheckpoint> make_checkpoint(const RandomModel& model, std::uint64_t seed) {
  return std::make_unique<RandomCheckpoint>(model, seed);
}

}  // namespace ingot::testing_support
