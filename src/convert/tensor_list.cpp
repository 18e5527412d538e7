// Maps a model's tensors to GGUF: names, stacks of experts, rotary pairs, frequency divisors.
#include "convert/tensor_list.h"

#include <algorithm>
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

/// Collects a model's tensors by role.
class Lister {
 public:
  Lister(const Checkpoint& checkpoint, const BoundModel& model)
      : checkpoint_(checkpoint), config_(checkpoint.config()), model_(model) {}

  std::vector<ListedTensor> list() {
    add_matrix(TensorRole::kEmbedding, 0, model_.embedding);
    add_matrix(TensorRole::kHead, 0, model_.head);
    add_vector(TensorRole::kFinalNorm, 0, model_.final_norm);
    add_rope_freqs();
    for (std::size_t i = 0; i < model_.layers.size(); ++i) {
      add_layer(static_cast<std::int64_t>(i), model_.layers[i]);
    }
    if (config_.naming == Naming::kGguf) {
      std::sort(list_.begin(), list_.end(), [](const ListedTensor& a, const ListedTensor& b) {
        const TensorInfo& x = *a.sources.front();
        const TensorInfo& y = *b.sources.front();
        return x.file != y.file ? x.file < y.file : x.offset < y.offset;
      });
    }
    return std::move(list_);
  }

 private:
  ListedTensor& add(TensorRole role, std::int64_t layer, const TensorInfo& source) {
    return list_.emplace_back(ListedTensor{.name = tensor_name(role, Naming::kGguf, layer),
                                           .role = role,
                                           .layer = layer,
                                           .shape = source.shape,
                                           .sources = {&source},
                                           .values = {}});
  }
  void add_vector(TensorRole role, std::int64_t layer, const TensorInfo* source) {
    if (source != nullptr) add(role, layer, *source);
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
    add(bias, layer, *weight.biases[part]).turned_heads = turned_heads;
  }

  /// Adds part `part` of all experts' weights. In a folder, each expert has its own tensor.
  void add_experts(TensorRole role, std::int64_t layer, const std::vector<BoundWeight>& experts,
                   std::size_t part) {
    if (experts.empty()) return;
    ListedTensor& tensor = add(role, layer, *experts.front().parts[part].tensor);
    if (config_.naming == Naming::kGguf) return;
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
  if (config_.naming == Naming::kGguf)
    return add_vector(TensorRole::kRopeFreqs, 0, checkpoint_.find(name));
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
  const Spec& s = model_.spec;
  const bool turned = config_.naming == Naming::kHuggingFace && config_.architecture == "llama";
  add_vector(TensorRole::kAttnNorm, i, layer.attn_norm);
  add_part(TensorRole::kQ, TensorRole::kQBias, i, layer.qkv, 0, turned ? s.heads : 0);
  add_part(TensorRole::kK, TensorRole::kKBias, i, layer.qkv, 1, turned ? s.kv_heads : 0);
  add_part(TensorRole::kV, TensorRole::kVBias, i, layer.qkv, 2);
  add_part(TensorRole::kAttnOut, TensorRole::kAttnOutBias, i, layer.attn_out, 0);
  add_vector(TensorRole::kQNorm, i, layer.q_norm);
  add_vector(TensorRole::kKNorm, i, layer.k_norm);
  add_vector(TensorRole::kFfnNorm, i, layer.ffn_norm);
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
