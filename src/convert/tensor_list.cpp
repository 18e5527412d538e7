// Maps a model's tensors to GGUF: names, stacks of experts, rotary pairs, frequency divisors.
#include "convert/tensor_list.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/check.h"
#include "base/error.h"
#include "base/fp_env.h"
#include "base/index.h"
#include "base/text.h"
#include "model/rope.h"
#include "quant/formats.h"

namespace ingot {

namespace {

/// Architectures whose folders are converted: the names and the order of their tensors are known.
constexpr std::array<std::string_view, 4> kConverted{"llama", "qwen2", "qwen3", "qwen3moe"};

ListedTensor listed(std::string name, TensorRole role, std::int64_t layer,
                    const TensorInfo& source) {
  return {.name = std::move(name),
          .role = role,
          .layer = layer,
          .shape = source.shape,
          .sources = {&source},
          .values = {}};
}

/// The tensors of a GGUF file, which a new file stores as they are.
std::vector<ListedTensor> list_stored(const BoundModel& model) {
  std::vector<ListedTensor> list;
  for (const BoundTensor& t : model.tensors) {
    list.push_back(listed(t.tensor->name, t.role, t.layer, *t.tensor));
  }
  std::sort(list.begin(), list.end(), [](const ListedTensor& a, const ListedTensor& b) {
    const TensorInfo& x = *a.sources.front();
    const TensorInfo& y = *b.sources.front();
    return x.file != y.file ? x.file < y.file : x.offset < y.offset;
  });
  return list;
}

/// Collects the tensors of a folder by role.
class Lister {
 public:
  Lister(const Checkpoint& checkpoint, const BoundModel& model)
      : checkpoint_(checkpoint), config_(checkpoint.config()), model_(model) {}

  std::vector<ListedTensor> list() {
    if (std::find(kConverted.begin(), kConverted.end(), config_.architecture) == kConverted.end() ||
        (config_.architecture == "llama" && config_.experts > 0)) {
      throw model_error(checkpoint_.name(), "config",
                        cat("folders of model type ", printable(config_.model_type),
                            " are not converted to GGUF yet"));
    }
    add_matrix(TensorRole::kEmbedding, 0, model_.embedding);
    add_matrix(TensorRole::kHead, 0, model_.head);
    add_norm(TensorRole::kFinalNorm, 0, model_.final_norm);
    add_rope_freqs();
    for (std::size_t i = 0; i < model_.layers.size(); ++i) {
      add_layer(static_cast<std::int64_t>(i), model_.layers[i]);
    }
    return std::move(list_);
  }

 private:
  ListedTensor& add(TensorRole role, std::int64_t layer, const TensorInfo& source) {
    return list_.emplace_back(listed(tensor_name(role, Naming::kGguf, layer), role, layer, source));
  }
  void add_norm(TensorRole role, std::int64_t layer, const BoundNorm& norm) {
    if (norm) add(role, layer, *norm.weights.front());
  }
  void add_matrix(TensorRole role, std::int64_t layer, const BoundWeight& weight) {
    if (weight) add(role, layer, *weight.parts.front().tensor);
  }

  /// Adds part `part` of a weight, with its bias.
  void add_part(TensorRole role, TensorRole bias, std::int64_t layer, const BoundWeight& weight,
                std::size_t part, std::int64_t turned_heads = 0) {
    if (!weight) return;
    add(role, layer, *weight.parts[part].tensor).turned_heads = turned_heads;
    if (weight.biases.empty()) return;
    add(bias, layer, *weight.biases[part].tensor).turned_heads = turned_heads;
  }

  /// Adds part `part` of all experts' weights. In a folder, each expert has its own tensor.
  void add_experts(TensorRole role, std::int64_t layer, const std::vector<BoundWeight>& experts,
                   std::size_t part) {
    if (experts.empty()) return;
    ListedTensor& tensor = add(role, layer, *experts.front().parts[part].tensor);
    tensor.sources.clear();
    for (const BoundWeight& expert : experts) {
      const TensorInfo* source = expert.parts[part].tensor;
      if (source->format != experts.front().parts[part].tensor->format) {
        throw model_error(checkpoint_.file_of(*source), cat("tensor ", printable(source->name)),
                          source->offset, "its type differs from that of the other experts");
      }
      tensor.sources.push_back(source);
    }
    tensor.shape.insert(tensor.shape.begin(), static_cast<std::int64_t>(experts.size()));
  }

  void add_rope_freqs();
  void add_layer(std::int64_t i, const BoundLayer& layer);

  const Checkpoint& checkpoint_;
  const Config& config_;
  const BoundModel& model_;
  std::vector<ListedTensor> list_;
};

void Lister::add_rope_freqs() {
  const std::string name = tensor_name(TensorRole::kRopeFreqs, Naming::kGguf);
  if (config_.ropes.front().scaling.kind != RopeScaling::Kind::kLlama3) return;
  RopeConfig unscaled = config_.ropes.front();
  unscaled.scaling = {};
  const CanonicalFp canonical;
  const std::vector<double> plain = rope_spec(unscaled).inverse_frequency;
  const std::vector<double>& scaled = model_.spec.ropes.front().inverse_frequency;
  ListedTensor tensor{.name = name,
                      .role = TensorRole::kRopeFreqs,
                      .shape = {static_cast<std::int64_t>(plain.size())},
                      .sources = {},
                      .values = {}};
  for (std::size_t i = 0; i < plain.size(); ++i) {
    tensor.values.push_back(static_cast<float>(plain[i] / scaled[i]));
  }
  list_.push_back(std::move(tensor));
}

void Lister::add_layer(std::int64_t i, const BoundLayer& layer) {
  const LayerSpec& sizes = model_.spec.layer(i);
  if (layer.qkv.parts.size() != 3 || (layer.gate_up && layer.gate_up.parts.size() != 2)) {
    throw model_error(checkpoint_.name(), "tensors",
                      cat("layer ", i, " stores several matrices in one tensor, which is not ",
                          "converted to GGUF yet"));
  }
  const bool turned = config_.architecture == "llama";
  add_norm(TensorRole::kAttnNorm, i, layer.attn_norms.pre);
  add_part(TensorRole::kQ, TensorRole::kQBias, i, layer.qkv, 0, turned ? sizes.heads : 0);
  add_part(TensorRole::kK, TensorRole::kKBias, i, layer.qkv, 1, turned ? sizes.kv_heads : 0);
  add_part(TensorRole::kV, TensorRole::kVBias, i, layer.qkv, 2);
  add_part(TensorRole::kAttnOut, TensorRole::kAttnOutBias, i, layer.attn_out, 0);
  add_norm(TensorRole::kQNorm, i, layer.q_norm);
  add_norm(TensorRole::kKNorm, i, layer.k_norm);
  add_norm(TensorRole::kFfnNorm, i, layer.ffn_norms.pre);
  add_part(TensorRole::kGate, TensorRole::kGateBias, i, layer.gate_up, 0);
  add_part(TensorRole::kUp, TensorRole::kUpBias, i, layer.gate_up, 1);
  add_part(TensorRole::kDown, TensorRole::kDownBias, i, layer.down, 0);
  add_matrix(TensorRole::kRouter, i, layer.router);
  add_experts(TensorRole::kExpertGate, i, layer.expert_gate_up, 0);
  add_experts(TensorRole::kExpertUp, i, layer.expert_gate_up, 1);
  add_experts(TensorRole::kExpertDown, i, layer.expert_down, 0);
}

}  // namespace

std::int64_t ListedTensor::rows() const {
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) elements *= size;
  return elements / cols();
}

std::int64_t ListedTensor::rows_per_expert() const { return shape.size() == 3 ? shape[1] : rows(); }

SourceRow source_row(const ListedTensor& tensor, std::int64_t row) {
  if (tensor.turned_heads > 0) {
    // Row 2i + j of a head is row i of its half j.
    const std::int64_t size = tensor.rows() / tensor.turned_heads;
    const std::int64_t in_head = row % size;
    row += in_head % 2 * (size / 2) + in_head / 2 - in_head;
  }
  const std::int64_t rows_each = tensor.rows() / std::ssize(tensor.sources);
  const TensorInfo* source = at(tensor.sources, row / rows_each);
  return {source, source->data + row % rows_each * row_bytes(*source->format, tensor.cols())};
}

std::vector<ListedTensor> list_tensors(const Checkpoint& checkpoint, const BoundModel& model) {
  if (checkpoint.config().naming == Naming::kGguf) return list_stored(model);
  return Lister(checkpoint, model).list();
}

std::vector<const TensorInfo*> left_out(const Checkpoint& checkpoint,
                                        const std::vector<ListedTensor>& listed) {
  std::set<const TensorInfo*> used;
  for (const ListedTensor& tensor : listed) {
    used.insert(tensor.sources.begin(), tensor.sources.end());
  }
  std::vector<const TensorInfo*> rest;
  for (const TensorInfo& tensor : checkpoint.tensors()) {
    if (used.count(&tensor) == 0) rest.push_back(&tensor);
  }
  return rest;
}

}  // namespace ingot
