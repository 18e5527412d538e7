// Makes synthetic models: shapes, tensors, and random weights of sane size in any format.
#include "convert/synthetic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/half.h"
#include "base/ignore_case.h"
#include "base/index.h"
#include "base/philox.h"
#include "base/text.h"
#include "quant/formats.h"

namespace ingot {

namespace {

// Sizes from the models' config.json: layers, hidden, ffn, vocab, context; heads, kv_heads,
// head_dim; rope_theta, norm_eps, tied; experts, experts_used, expert_ffn.
constexpr std::array kShapes = std::to_array<SyntheticShape>({
    {"qwen3-30b-a3b", "qwen3moe", 48, 2048, 6144, 151'936, 40'960, 32, 4, 128, 1e6, 1e-6, false,
     128, 8, 768},
    {"qwen3-4b", "qwen3", 36, 2560, 9728, 151'936, 40'960, 32, 8, 128, 1e6, 1e-6},
    {"llama-3.2-1b", "llama", 16, 2048, 8192, 128'256, 131'072, 32, 8, 64, 5e5, 1e-5},
    {"qwen3-0.6b", "qwen3", 28, 1024, 3072, 151'936, 40'960, 16, 8, 128, 1e6, 1e-6},
    // No published model: one of many small experts that fits beside other work.
    {"moe-64", "qwen3moe", 12, 1024, 3072, 32'768, 8192, 16, 4, 64, 1e6, 1e-6, true, 64, 8, 512},
    // For tests: rows of one block of 256.
    {"tiny-moe", "qwen3moe", 2, 256, 512, 512, 512, 4, 2, 64, 1e4, 1e-6, false, 8, 2, 256},
    {"tiny", "llama", 2, 256, 512, 512, 512, 4, 2, 64, 1e4, 1e-5},
});

struct FileType {
  Format format;
  std::uint32_t number;
};

// general.file_type of formats that no recipe has. Source: GGUF specification (ggml, docs/gguf.md).
constexpr FileType kFileTypes[] = {
    {Q4_1::kFormat, 3},  {Q5_0::kFormat, 8},    {Q5_1::kFormat, 9},    {Q2_K::kFormat, 10},
    {Q3_K::kFormat, 12}, {IQ4_NL::kFormat, 25}, {IQ4_XS::kFormat, 30}, {MXFP4::kFormat, 38},
};

/// Random numbers for one row of one tensor: a Philox stream with its own key.
class Stream {
 public:
  Stream(std::uint32_t seed, std::size_t tensor, std::int64_t row)
      : key_{seed, static_cast<std::uint32_t>(tensor)}, row_(static_cast<std::uint64_t>(row)) {}

  std::uint32_t next() {
    if (at_ == words_.size()) {
      words_ = philox4x32(
          {counter_++, 0, static_cast<std::uint32_t>(row_), static_cast<std::uint32_t>(row_ >> 32)},
          key_);
      at_ = 0;
    }
    return words_[at_++];
  }
  void fill(void* to, std::size_t bytes) {
    auto* out = static_cast<std::byte*>(to);
    for (std::size_t i = 0; i < bytes; i += 4) {
      const std::uint32_t word = next();
      std::memcpy(out + i, &word, std::min<std::size_t>(4, bytes - i));
    }
  }
  /// Uniform within [-1, 1).
  float uniform() { return static_cast<float>(static_cast<std::int32_t>(next())) * 0x1p-31f; }

 private:
  std::array<std::uint32_t, 2> key_;
  std::uint64_t row_;
  std::uint32_t counter_ = 0;
  std::array<std::uint32_t, 4> words_{};
  std::size_t at_ = 4;
};

/// The scales `d` (of weights) and `m` (of minima) that give blocks of random bits mean 0 and
/// variance 1.
struct UnitScales {
  double d = 1;
  double m = 0;
};

template <BlockFormat F>
void set_scales(typename F::Block& block, double d, double m) {
  if constexpr (requires { block.d; }) block.d = float_to_half(static_cast<float>(d));
  if constexpr (requires { block.m; }) block.m = float_to_half(static_cast<float>(m));
  if constexpr (requires { block.dmin; }) block.dmin = float_to_half(static_cast<float>(m));
  // MXFP4 has only powers of two.
  if constexpr (requires { block.e; }) {
    block.e = static_cast<std::uint8_t>(std::clamp(128 + std::ilogb(d), 0, 254));
  }
}

template <BlockFormat F>
std::vector<float> decoded_sample(double d, double m) {
  constexpr std::int64_t kBlocks = 256;
  std::vector<typename F::Block> blocks(kBlocks);
  Stream stream(0, 0, 0);
  stream.fill(blocks.data(), kBlocks * sizeof(typename F::Block));
  for (auto& block : blocks) set_scales<F>(block, d, m);
  std::vector<float> out(kBlocks * F::kBlock);
  decode_row(F::kFormat, reinterpret_cast<const std::byte*>(blocks.data()), std::ssize(out),
             out.data());
  return out;
}

double mean_of(const std::vector<float>& values) {
  double sum = 0;
  for (const float v : values) sum += static_cast<double>(v);
  return sum / static_cast<double>(values.size());
}

template <BlockFormat F>
UnitScales unit_scales() {
  UnitScales unit;
  if constexpr (F::kMinSign != 0) {
    unit.m = -mean_of(decoded_sample<F>(1, 0)) / mean_of(decoded_sample<F>(0, 1));
  }
  double squares = 0;
  const std::vector<float> sample = decoded_sample<F>(1, unit.m);
  for (const float v : sample) squares += static_cast<double>(v) * static_cast<double>(v);
  const double factor = 1 / std::sqrt(squares / static_cast<double>(sample.size()));
  return {.d = factor, .m = unit.m * factor};
}

/// Fills one row of `cols` weights whose standard deviation is `spread`.
template <class F>
void fill_row(Stream& stream, std::int64_t cols, double spread, std::byte* out) {
  if constexpr (BlockFormat<F>) {
    static const UnitScales unit = unit_scales<F>();
    for (std::int64_t k = 0; k < cols; k += F::kBlock, out += sizeof(typename F::Block)) {
      typename F::Block block;
      stream.fill(&block, sizeof block);
      set_scales<F>(block, spread * unit.d, spread * unit.m);
      std::memcpy(out, &block, sizeof block);
    }
  } else {
    const auto reach = static_cast<float>(spread * std::sqrt(3.0));
    for (std::int64_t k = 0; k < cols; ++k, out += sizeof(typename F::Element)) {
      const auto element = F::narrow(reach * stream.uniform());
      std::memcpy(out, &element, sizeof element);
    }
  }
}

void fill_norm(Stream& stream, std::int64_t cols, std::byte* out) {
  for (std::int64_t k = 0; k < cols; ++k, out += sizeof(float)) {
    const float weight = 1 + 0.1f * stream.uniform();
    std::memcpy(out, &weight, sizeof weight);
  }
}

/// Lists the tensors of a shape, in the order of common files.
class SyntheticTensors {
 public:
  SyntheticTensors(const SyntheticShape& shape, std::int64_t layers) : s_(shape), layers_(layers) {}

  std::vector<ListedTensor> list() {
    add(TensorRole::kEmbedding, 0, {s_.vocab, s_.hidden});
    for (std::int64_t i = 0; i < layers_; ++i) add_layer(i);
    add(TensorRole::kFinalNorm, 0, {s_.hidden});
    if (!s_.tied) add(TensorRole::kHead, 0, {s_.vocab, s_.hidden});
    return std::move(list_);
  }

 private:
  void add(TensorRole role, std::int64_t layer, std::vector<std::int64_t> shape) {
    list_.push_back({.name = tensor_name(role, Naming::kGguf, layer),
                     .role = role,
                     .layer = layer,
                     .shape = std::move(shape),
                     .sources = {},
                     .values = {}});
  }
  void add_layer(std::int64_t i) {
    const std::int64_t q = std::int64_t{s_.heads} * s_.head_dim;
    const std::int64_t kv = std::int64_t{s_.kv_heads} * s_.head_dim;
    add(TensorRole::kAttnNorm, i, {s_.hidden});
    add(TensorRole::kQ, i, {q, s_.hidden});
    add(TensorRole::kK, i, {kv, s_.hidden});
    add(TensorRole::kV, i, {kv, s_.hidden});
    if (s_.architecture.starts_with("qwen3")) {
      add(TensorRole::kQNorm, i, {s_.head_dim});
      add(TensorRole::kKNorm, i, {s_.head_dim});
    }
    add(TensorRole::kAttnOut, i, {s_.hidden, q});
    add(TensorRole::kFfnNorm, i, {s_.hidden});
    if (s_.experts == 0) {
      add(TensorRole::kGate, i, {s_.ffn, s_.hidden});
      add(TensorRole::kUp, i, {s_.ffn, s_.hidden});
      add(TensorRole::kDown, i, {s_.hidden, s_.ffn});
      return;
    }
    add(TensorRole::kRouter, i, {s_.experts, s_.hidden});
    add(TensorRole::kExpertGate, i, {s_.experts, s_.expert_ffn, s_.hidden});
    add(TensorRole::kExpertUp, i, {s_.experts, s_.expert_ffn, s_.hidden});
    add(TensorRole::kExpertDown, i, {s_.experts, s_.hidden, s_.expert_ffn});
  }

  const SyntheticShape& s_;
  std::int64_t layers_;
  std::vector<ListedTensor> list_;
};

GgufValues values_of(const SyntheticShape& s, const Recipe& recipe, std::int64_t layers) {
  GgufValues out;
  const auto count = [&](std::string_view rest, std::int64_t value) {
    out.set_uint32(cat(s.architecture, ".", rest), static_cast<std::uint32_t>(value));
  };
  const auto number = [&](std::string_view rest, double value) {
    out.set_float32(cat(s.architecture, ".", rest), static_cast<float>(value));
  };
  out.set_text("general.architecture", s.architecture);
  out.set_text("general.name", cat("random weights in the shape of ", s.name));
  out.set_uint32("general.file_type", recipe.file_type);
  out.set_uint32("general.quantization_version", 2);
  count("block_count", layers);
  count("context_length", s.context);
  count("embedding_length", s.hidden);
  count("feed_forward_length", s.ffn);
  count("vocab_size", s.vocab);
  count("attention.head_count", s.heads);
  count("attention.head_count_kv", s.kv_heads);
  count("attention.key_length", s.head_dim);
  count("attention.value_length", s.head_dim);
  number("attention.layer_norm_rms_epsilon", s.norm_eps);
  count("rope.dimension_count", s.head_dim);
  number("rope.freq_base", s.rope_theta);
  if (s.experts > 0) {
    count("expert_count", s.experts);
    count("expert_used_count", s.experts_used);
    count("expert_feed_forward_length", s.expert_ffn);
  }
  out.set_text("tokenizer.ggml.model", "no_vocab");
  return out;
}

/// A Spec with the fields that choose_format reads.
Spec spec_of(const SyntheticShape& s, std::int64_t layers) {
  Spec spec;
  spec.architecture = s.architecture;
  spec.layers = layers;
  spec.layer_specs.assign(to_size(layers), {.heads = s.heads, .kv_heads = s.kv_heads});
  spec.moe.experts = static_cast<std::int32_t>(s.experts);
  spec.tied = s.tied;
  return spec;
}

}  // namespace

std::span<const SyntheticShape> synthetic_shapes() { return kShapes; }

const SyntheticShape* find_synthetic_shape(std::string_view name) {
  const auto found = std::find_if(kShapes.begin(), kShapes.end(),
                                  [&](const SyntheticShape& s) { return s.name == name; });
  return found == kShapes.end() ? nullptr : &*found;
}

std::optional<Recipe> synthetic_recipe(std::string_view name) {
  if (const Recipe* recipe = find_recipe(name)) return *recipe;
  for (const FileType& type : kFileTypes) {
    if (equal_ignoring_case(name, format_name(type.format))) {
      return Recipe{format_name(type.format), type.format, type.number};
    }
  }
  return {};
}

std::uint64_t SyntheticPlan::bytes() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    sum += static_cast<std::uint64_t>(tensors[i].rows() * row_bytes(formats[i], tensors[i].cols()));
  }
  return sum;
}

SyntheticPlan plan_synthetic(const SyntheticShape& shape, const Recipe& recipe, std::int64_t layers,
                             std::uint32_t seed) {
  INGOT_CHECK(layers >= 1, layers, " layers");
  SyntheticPlan plan{.values = values_of(shape, recipe, layers),
                     .tensors = SyntheticTensors(shape, layers).list(),
                     .formats = {},
                     .seed = seed};
  const Spec spec = spec_of(shape, layers);
  for (const ListedTensor& tensor : plan.tensors) {
    plan.formats.push_back(choose_format(recipe, spec, tensor).format);
  }
  return plan;
}

void write_synthetic(const SyntheticPlan& plan, const std::string& path, ThreadPool& pool,
                     FunctionRef<void(std::uint64_t done, std::uint64_t total)> progress) {
  constexpr std::int64_t kBytesAtOnce = 16 << 20;
  std::vector<GgufTensor> table;
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    table.push_back({plan.tensors[i].name, plan.tensors[i].shape, plan.formats[i]});
  }
  GgufWriter writer(path, plan.values, std::move(table));
  const std::uint64_t total = plan.bytes();
  std::uint64_t done = 0;
  std::vector<std::byte> bytes;
  for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
    const ListedTensor& tensor = plan.tensors[t];
    const std::int64_t cols = tensor.cols();
    const std::int64_t each = row_bytes(plan.formats[t], cols);
    const double spread = 1 / std::sqrt(static_cast<double>(cols));
    for (std::int64_t first = 0; first < tensor.rows();) {
      const std::int64_t rows = std::min(tensor.rows() - first, kBytesAtOnce / each + 1);
      bytes.resize(to_size(rows * each));
      pool.parallel_for(rows, [&](std::int64_t i, int) {
        Stream stream(plan.seed, t, first + i);
        std::byte* const out = bytes.data() + i * each;
        if (tensor.shape.size() == 1) return fill_norm(stream, cols, out);
        visit_format(plan.formats[t], [&]<class F>() { fill_row<F>(stream, cols, spread, out); });
      });
      writer.write(bytes);
      done += bytes.size();
      first += rows;
      progress(done, total);
    }
  }
  writer.commit();
}

}  // namespace ingot
