// Makes synthetic models: shapes, tensors, and random weights of sane size in any format.
#include "convert/synthetic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <tuple>

#include "base/check.h"
#include "base/half.h"
#include "base/ignore_case.h"
#include "base/index.h"
#include "base/philox.h"
#include "base/text.h"
#include "convert/read_back.h"
#include "load/architectures.h"
#include "load/checkpoint.h"
#include "model/bind.h"
#include "model/family.h"
#include "quant/formats.h"

namespace ingot {

namespace {

using Key = SyntheticKey;
using Name = std::string_view;

constexpr std::span<const Key> kNoKeys{};

constexpr Name kHeadNorms[] = {"attn_q_norm.weight", "attn_k_norm.weight"};

constexpr Name kQkvBiases[] = {"attn_q.bias", "attn_k.bias", "attn_v.bias"};

constexpr Key kGemma2[] = {{"attention.sliding_window", 16},
                           {"attn_logit_softcapping", 50.0},
                           {"final_logit_softcapping", 30.0}};
constexpr Key kGemma3[] = {{"attention.sliding_window", 512}, {"rope.freq_base_swa", 1e4}};
constexpr Key kTinyGemma3[] = {{"attention.sliding_window", 16},
                               {"attention.sliding_window_pattern", 2},
                               {"rope.scaling.type", Name("linear")},
                               {"rope.scaling.factor", 8.0}};

// Layers with inputs of their own. The last ones read the keys of others. Full layers have larger
// heads.
constexpr Key kTinyGemma4[] = {
    {"attention.sliding_window", 16},  {"attention.sliding_window_pattern", 2},
    {"attention.key_length_swa", 32},  {"attention.value_length_swa", 32},
    {"attention.shared_kv_layers", 2}, {"embedding_length_per_layer_input", 64},
    {"final_logit_softcapping", 30.0}};
constexpr Name kGemma4Tensors[] = {"attn_v.weight"};

constexpr Key kCohere2[] = {{"attention.sliding_window", 4096}, {"logit_scale", 0.25}};
constexpr Key kTinyCohere2[] = {{"attention.sliding_window", 16}, {"logit_scale", 0.25}};

constexpr Key kPhi4[] = {{"rope.scaling.original_context_length", 16'384}};

constexpr Key kGptOss[] = {{"attention.sliding_window", 128},
                           {"rope.scaling.type", Name("yarn")},
                           {"rope.scaling.factor", 32.0},
                           {"rope.scaling.original_context_length", 4096}};
constexpr Key kTinyGptOss[] = {{"attention.sliding_window", 16}};
constexpr Name kAttentionBiases[] = {"attn_q.bias", "attn_k.bias", "attn_v.bias",
                                     "attn_output.bias"};

constexpr Key kDeepseekLite[] = {{"attention.head_count_kv", 1},
                                 {"attention.kv_lora_rank", 512},
                                 {"attention.key_length", 576},
                                 {"attention.value_length", 512},
                                 {"attention.key_length_mla", 192},
                                 {"attention.value_length_mla", 128},
                                 {"rope.dimension_count", 64},
                                 {"rope.scaling.type", Name("yarn")},
                                 {"rope.scaling.factor", 40.0},
                                 {"rope.scaling.original_context_length", 4096},
                                 {"rope.scaling.yarn_log_multiplier", 0.0707},
                                 {"leading_dense_block_count", 1},
                                 {"expert_shared_count", 2}};
// A latent for queries too, and experts in groups.
constexpr Key kTinyDeepseek[] = {
    {"attention.head_count_kv", 1},     {"attention.q_lora_rank", 256},
    {"attention.kv_lora_rank", 64},     {"attention.key_length", 96},
    {"attention.value_length", 64},     {"attention.key_length_mla", 64},
    {"attention.value_length_mla", 64}, {"rope.dimension_count", 32},
    {"leading_dense_block_count", 1},   {"expert_shared_count", 1},
    {"expert_gating_func", 2},          {"expert_weights_norm", true},
    {"expert_weights_scale", 2.5},      {"expert_group_count", 4},
    {"expert_group_used_count", 2}};
constexpr Name kDeepseekTensors[] = {"attn_k_b.weight", "exp_probs_b.bias"};
constexpr Name kDeepseekLiteTensors[] = {"attn_k_b.weight"};

constexpr Key kMeanPooling[] = {{"pooling_type", 1}};
constexpr Key kModernBert[] = {{"attention.sliding_window", 128}, {"pooling_type", 2}};
constexpr Key kTinyModernBert[] = {{"attention.sliding_window", 16}, {"pooling_type", 2}};
constexpr Key kCrossEncoder[] = {{"pooling_type", 4}};
constexpr Name kCrossEncoderTensors[] = {"cls.weight", "cls.bias", "cls.output.weight",
                                         "cls.output.bias"};

// Sizes from the models' config.json: layers, hidden, ffn, vocab, context; heads, kv_heads,
// head_dim; rope_theta, norm_eps, tied; experts, experts_used, expert_ffn; keys, tensors.
constexpr std::array kShapes = std::to_array<SyntheticShape>({
    {"mixtral-8x7b", "llama", 32, 4096, 14'336, 32'000, 32'768, 32, 8, 128, 1e6, 1e-5, false, 8, 2,
     14'336},
    {"qwen3-30b-a3b", "qwen3moe", 48, 2048, 6144, 151'936, 40'960, 32, 4, 128, 1e6, 1e-6, false,
     128, 8, 768, kNoKeys, kHeadNorms},
    {"gpt-oss-20b", "gpt-oss", 24, 2880, 2880, 201'088, 131'072, 64, 8, 64, 1.5e5, 1e-5, false, 32,
     4, 2880, kGptOss, kAttentionBiases},
    {"deepseek-v2-lite", "deepseek2", 27, 2048, 10'944, 102'400, 163'840, 16, 1, 192, 1e4, 1e-6,
     false, 64, 6, 1408, kDeepseekLite, kDeepseekLiteTensors},
    {"phi-4", "phi3", 40, 5120, 17'920, 100'352, 16'384, 40, 10, 128, 2.5e5, 1e-5, false, 0, 0, 0,
     kPhi4},
    {"command-r7b", "cohere2", 32, 4096, 14'336, 256'000, 8192, 32, 8, 128, 5e4, 1e-5, true, 0, 0,
     0, kCohere2},
    {"olmo-2-7b", "olmo2", 32, 4096, 11'008, 100'352, 4096, 32, 32, 128, 5e5, 1e-6, false},
    {"qwen3-4b", "qwen3", 36, 2560, 9728, 151'936, 40'960, 32, 8, 128, 1e6, 1e-6, true, 0, 0, 0,
     kNoKeys, kHeadNorms},
    {"llama-3.2-1b", "llama", 16, 2048, 8192, 128'256, 131'072, 32, 8, 64, 5e5, 1e-5},
    {"gemma-3-1b", "gemma3", 26, 1152, 6912, 262'144, 32'768, 4, 1, 256, 1e6, 1e-6, true, 0, 0, 0,
     kGemma3},
    {"qwen3-0.6b", "qwen3", 28, 1024, 3072, 151'936, 40'960, 16, 8, 128, 1e6, 1e-6, true, 0, 0, 0,
     kNoKeys, kHeadNorms},
    // No published model: one of many small experts that fits beside other work.
    {"moe-64", "qwen3moe", 12, 1024, 3072, 32'768, 8192, 16, 4, 64, 1e6, 1e-6, true, 64, 8, 512,
     kNoKeys, kHeadNorms},
    {"modernbert-base", "modern-bert", 22, 768, 1152, 50'368, 8192, 12, 12, 64, 1.6e5, 1e-5, true,
     0, 0, 0, kModernBert},
    {"bert-base", "bert", 12, 768, 3072, 30'522, 512, 12, 12, 64, 0, 1e-12, true, 0, 0, 0,
     kMeanPooling},
    // For tests: rows of one block of 256, one shape of each kind.
    {"tiny-moe", "qwen3moe", 2, 256, 512, 512, 512, 4, 2, 64, 1e4, 1e-6, false, 8, 2, 256, kNoKeys,
     kHeadNorms},
    {"tiny", "llama", 2, 256, 512, 512, 512, 4, 2, 64, 1e4, 1e-5},
    {"tiny-mixtral", "llama", 2, 256, 512, 512, 512, 4, 2, 64, 1e4, 1e-5, false, 8, 2, 512},
    {"tiny-biases", "qwen2", 2, 256, 512, 512, 512, 4, 2, 64, 1e4, 1e-6, true, 0, 0, 0, kNoKeys,
     kQkvBiases},
    {"tiny-gemma2", "gemma2", 4, 256, 512, 512, 512, 4, 2, 64, 1e4, 1e-6, true, 0, 0, 0, kGemma2},
    {"tiny-gemma3", "gemma3", 4, 256, 512, 512, 512, 4, 2, 64, 1e6, 1e-6, true, 0, 0, 0,
     kTinyGemma3},
    {"tiny-gemma4", "gemma4", 6, 256, 512, 512, 512, 4, 2, 64, 1e6, 1e-6, true, 0, 0, 0,
     kTinyGemma4, kGemma4Tensors},
    {"tiny-cohere2", "cohere2", 4, 256, 512, 512, 512, 4, 2, 64, 1e4, 1e-5, true, 0, 0, 0,
     kTinyCohere2},
    {"tiny-olmo2", "olmo2", 2, 256, 512, 512, 512, 4, 2, 64, 1e4, 1e-6, false},
    {"tiny-phi3", "phi3", 2, 256, 512, 512, 512, 4, 2, 64, 1e4, 1e-5, false},
    {"tiny-gpt-oss", "gpt-oss", 4, 256, 256, 512, 512, 4, 2, 64, 1e4, 1e-5, false, 8, 2, 256,
     kTinyGptOss, kAttentionBiases},
    {"tiny-deepseek", "deepseek2", 3, 256, 512, 512, 512, 4, 1, 64, 1e4, 1e-6, false, 8, 2, 256,
     kTinyDeepseek, kDeepseekTensors},
    {"tiny-bert", "bert", 2, 256, 512, 512, 512, 4, 4, 64, 0, 1e-12, true, 0, 0, 0, kMeanPooling},
    {"tiny-modernbert", "modern-bert", 4, 256, 512, 512, 512, 4, 4, 64, 1.6e5, 1e-5, true, 0, 0, 0,
     kTinyModernBert},
    {"tiny-cross-encoder", "bert", 2, 256, 512, 512, 512, 4, 4, 64, 0, 1e-12, true, 0, 0, 0,
     kCrossEncoder, kCrossEncoderTensors},
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

/// Fills a vector, or a table of vectors, with values up to 0.1 away from `centre`.
void fill_vector(Stream& stream, std::int64_t cols, float centre, std::byte* out) {
  for (std::int64_t k = 0; k < cols; ++k, out += sizeof(float)) {
    const float weight = centre + 0.1f * stream.uniform();
    std::memcpy(out, &weight, sizeof weight);
  }
}

/// The name without "blk.N.".
std::string_view name_in_layer(std::string_view name) {
  if (!name.starts_with("blk.")) return name;
  name.remove_prefix(4);
  return name.substr(name.find('.') + 1);
}

/// Whether a tensor's elements are factors: weights of norms, and scales.
bool is_factor(std::string_view name) {
  return name.ends_with("norm.weight") || name.ends_with("scale.weight");
}

/// A model without data: its configuration, and its tensors by name.
class PlannedCheckpoint final : public Checkpoint, public TensorPlanner {
 public:
  PlannedCheckpoint(const SyntheticShape& shape, const GgufValues& values) : shape_(shape) {
    constexpr std::int64_t kTypeRows = 2;
    name_ = shape.name;
    config_ = read_config(values, name_, [&](std::string_view name) { return lists(name); });
    // Binding takes the sizes of these tensors from the tensors.
    add_end(TensorRole::kEmbedding, {shape.vocab, shape.hidden});
    if (!shape.tied) add_end(TensorRole::kHead, {shape.vocab, shape.hidden});
    add_end(TensorRole::kTypes, {kTypeRows, shape.hidden});
    index_tensors();
  }

  bool wants(const std::string& name) const override {
    return lists(name) || name == tensor_name(TensorRole::kFinalNorm, Naming::kGguf);
  }

  const TensorInfo* plan(const std::string& name, const std::vector<std::int64_t>& shape) override {
    return &planned_.try_emplace(name, info(name, shape)).first->second;
  }

 private:
  bool lists(std::string_view name) const {
    const std::string_view rest = name_in_layer(name);
    return std::find(shape_.tensors.begin(), shape_.tensors.end(), rest) != shape_.tensors.end();
  }

  static TensorInfo info(const std::string& name, const std::vector<std::int64_t>& shape) {
    TensorInfo tensor;
    tensor.name = name;
    tensor.shape = shape;
    tensor.type_name = F32::kName;
    tensor.format = F32::kFormat;
    return tensor;
  }

  void add_end(TensorRole role, const std::vector<std::int64_t>& shape) {
    const Family& family = find_family(config_.architecture, name_);
    const std::string name = family.tensor_name(role, Naming::kGguf);
    if (!name.empty()) tensors_.push_back(info(name, shape));
  }

  const SyntheticShape& shape_;
  std::map<std::string, TensorInfo> planned_;
};

/// The tensors of a model, in the order of common files: embeddings, layers, final norm, head.
std::vector<ListedTensor> tensors_of(const BoundModel& model) {
  std::vector<ListedTensor> list = list_bound(model);
  for (ListedTensor& tensor : list) tensor.parts.clear();  // the planned checkpoint goes
  const auto place = [](const ListedTensor& t) {
    const int part = t.role < TensorRole::kFinalNorm                                   ? 0
                     : t.role >= TensorRole::kAttnNorm && t.role != TensorRole::kRoles ? 1
                                                                                       : 2;
    return std::tuple(part, t.layer, t.role);
  };
  std::stable_sort(list.begin(), list.end(), [&](const ListedTensor& a, const ListedTensor& b) {
    return place(a) < place(b);
  });
  return list;
}

void set_key(const SyntheticShape& s, const SyntheticKey& key, GgufValues& out) {
  const std::string name = cat(s.architecture, ".", key.name);
  if (const auto* count = std::get_if<std::int64_t>(&key.value)) {
    out.set_uint32(name, static_cast<std::uint32_t>(*count));
  } else if (const auto* number = std::get_if<double>(&key.value)) {
    out.set_float32(name, static_cast<float>(*number));
  } else if (const auto* flag = std::get_if<bool>(&key.value)) {
    out.set_boolean(name, *flag);
  } else {
    out.set_text(name, std::get<std::string_view>(key.value));
  }
}

GgufValues values_of(const SyntheticShape& s, const Recipe& recipe, std::int64_t layers) {
  const ArchitectureTraits& traits = *find_architecture(s.architecture);
  GgufValues out;
  const auto set = [&](std::string_view name, auto value) { set_key(s, {name, value}, out); };
  out.set_text("general.architecture", s.architecture);
  out.set_text("general.name", cat("random weights in the shape of ", s.name));
  out.set_uint32("general.file_type", recipe.file_type);
  out.set_uint32("general.quantization_version", 2);
  set("block_count", layers);
  set("context_length", s.context);
  set("embedding_length", s.hidden);
  set("feed_forward_length", s.ffn);
  set("vocab_size", s.vocab);
  set("attention.head_count", std::int64_t{s.heads});
  set("attention.head_count_kv", std::int64_t{s.kv_heads});
  set("attention.key_length", std::int64_t{s.head_dim});
  set("attention.value_length", std::int64_t{s.head_dim});
  set(traits.norm == Normalisation::kRms ? "attention.layer_norm_rms_epsilon"
                                         : "attention.layer_norm_epsilon",
      s.norm_eps);
  if (!traits.causal) set("attention.causal", false);
  if (s.rope_theta > 0) {
    set("rope.dimension_count", std::int64_t{s.head_dim});
    set("rope.freq_base", s.rope_theta);
  }
  if (s.experts > 0) {
    set("expert_count", s.experts);
    set("expert_used_count", s.experts_used);
    set("expert_feed_forward_length", s.expert_ffn);
  }
  for (const SyntheticKey& key : s.keys) set_key(s, key, out);
  out.set_text("tokenizer.ggml.model", "no_vocab");
  return out;
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
  SyntheticPlan plan{
      .values = values_of(shape, recipe, layers), .tensors = {}, .formats = {}, .seed = seed};
  PlannedCheckpoint checkpoint(shape, plan.values);
  const BoundModel model = bind_model(checkpoint, 0, &checkpoint);
  plan.tensors = tensors_of(model);
  if (model.types != nullptr) {
    plan.values.set_uint32("tokenizer.ggml.token_type_count",
                           static_cast<std::uint32_t>(model.types->shape.front()));
  }
  for (const ListedTensor& tensor : plan.tensors) {
    plan.formats.push_back(choose_format(recipe, model.spec, tensor).format);
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
    const bool is_vector = tensor.shape.size() == 1 || tensor.name.ends_with(".bias");
    for (std::int64_t first = 0; first < tensor.rows();) {
      const std::int64_t rows = std::min(tensor.rows() - first, kBytesAtOnce / each + 1);
      bytes.resize(to_size(rows * each));
      pool.parallel_for(rows, [&](std::int64_t i, int) {
        Stream stream(plan.seed, t, first + i);
        std::byte* const out = bytes.data() + i * each;
        if (is_factor(tensor.name)) return fill_vector(stream, cols, 1, out);
        if (is_vector) return fill_vector(stream, cols, 0, out);
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
