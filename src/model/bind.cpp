// bind_model: finds the tensor of each role, and refuses missing, misshapen and unknown tensors.
#include "model/bind.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/fp_env.h"
#include "base/index.h"
#include "base/text.h"
#include "model/rope.h"
#include "quant/formats.h"

namespace ingot {

namespace {

using Shape = std::vector<std::int64_t>;

std::string to_string(const Shape& shape) {
  std::string out = "[";
  for (const std::int64_t dim : shape) out += cat(out.size() == 1 ? "" : ", ", dim);
  return out + "]";
}

/// Finds tensors by role and remembers which have been used.
class Binder {
 public:
  explicit Binder(const Checkpoint& checkpoint)
      : checkpoint_(checkpoint),
        config_(checkpoint.config()),
        family_(find_family(config_, checkpoint.name())) {
    const auto tensors = checkpoint.tensors();
    // Base models ("LlamaModel") are saved without the prefix "model." of models with a head.
    bare_ = config_.naming == Naming::kHuggingFace &&
            std::none_of(tensors.begin(), tensors.end(),
                         [](const TensorInfo& t) { return t.name.compare(0, 6, "model.") == 0; });
  }

  BoundModel bind() {
    model_.spec = family_.spec(config_);
    if (model_.spec.moe.experts != 0 && rule_of(TensorRole::kRouter) == nullptr) {
      throw model_error(checkpoint_.name(), "config",
                        cat("architecture ", config_.architecture, " with ",
                            model_.spec.moe.experts, " experts is not supported"));
    }
    bind_ends();
    bind_rope_freqs();
    check_frequencies();
    for (std::int64_t i = 0; i < model_.spec.layers; ++i) model_.layers.push_back(bind_layer(i));
    check_left_over();
    check_tokenizer();
    return std::move(model_);
  }

 private:
  [[noreturn]] void fail(const TensorInfo& t, std::string_view reason) const {
    throw model_error(checkpoint_.file_of(t), cat("tensor ", printable(t.name)), t.offset, reason);
  }
  [[noreturn]] void fail(std::string_view reason) const {
    throw model_error(checkpoint_.name(), "tensors", reason);
  }

  const RoleRule* rule_of(TensorRole role) const {
    const auto rule = std::find_if(family_.roles.begin(), family_.roles.end(),
                                   [&](const RoleRule& r) { return r.role == role; });
    return rule == family_.roles.end() ? nullptr : &*rule;
  }

  std::string name_of(TensorRole role, std::int64_t layer, std::int64_t expert) const {
    const std::string name = tensor_name(role, config_.naming, layer, expert);
    return bare_ && name.compare(0, 6, "model.") == 0 ? name.substr(6) : name;
  }

  /// The role's tensor; null if the family does not have the role, or if it is optional and absent.
  const TensorInfo* take(TensorRole role, const Shape& shape, std::int64_t layer = 0,
                         std::int64_t expert = 0) {
    const RoleRule* rule = rule_of(role);
    if (rule == nullptr) return nullptr;
    const std::string name = name_of(role, layer, expert);
    const TensorInfo* t = name.empty() ? nullptr : checkpoint_.find(name);
    if (t == nullptr) {
      if (rule->presence == Presence::kOptional) return nullptr;
      fail(cat("tensor ", role_names(role, layer, expert), " is missing"));
    }
    used_.insert(t);
    if (!t->format) fail(*t, cat("type ", t->type_name, " holds no weights"));
    if (t->shape != shape) {
      fail(*t, cat("shape is ", to_string(t->shape), ", expected ", to_string(shape)));
    }
    return t;
  }

  /// A weight of one or more roles, and their biases.
  struct Part {
    TensorRole role;
    std::int64_t rows;
    std::optional<TensorRole> bias = std::nullopt;
  };
  BoundWeight take_weight(std::initializer_list<Part> parts, std::int64_t cols,
                          std::int64_t layer) {
    BoundWeight w;
    for (const Part& p : parts) {
      const TensorInfo* t = take(p.role, {p.rows, cols}, layer);
      if (t == nullptr) return {};
      w.parts.push_back({t, 0, p.rows, cols});
      const TensorInfo* bias = p.bias ? take(*p.bias, {p.rows}, layer) : nullptr;
      if (bias != nullptr) w.biases.push_back(bias);
    }
    if (!w.biases.empty() && w.biases.size() != w.parts.size()) {
      fail(*w.biases.front(), cat("there are biases for ", w.biases.size(), " of ", w.parts.size(),
                                  " matrices that belong together"));
    }
    return w;
  }

  void bind_ends();
  void bind_tie(const TensorInfo* embedding, const TensorInfo* head);
  void bind_rope_freqs();
  void check_frequencies() const;
  BoundLayer bind_layer(std::int64_t i);
  void bind_dense(std::int64_t i, BoundLayer& layer);
  void bind_experts(std::int64_t i, BoundLayer& layer);
  BoundPart take_expert(TensorRole role, std::int64_t rows, std::int64_t cols, std::int64_t layer,
                        std::int64_t expert);
  void check_biases(std::int64_t i, const BoundLayer& layer) const;
  void check_left_over() const;
  void check_tokenizer() const;

  const Checkpoint& checkpoint_;
  const Config& config_;
  const Family& family_;
  bool bare_ = false;
  BoundModel model_;
  std::set<const TensorInfo*> used_;
};

void Binder::bind_ends() {
  Spec& s = model_.spec;
  const TensorInfo* embedding = checkpoint_.find(name_of(TensorRole::kEmbedding, 0, 0));
  const TensorInfo* head = checkpoint_.find(name_of(TensorRole::kHead, 0, 0));
  const TensorInfo* ends = embedding != nullptr ? embedding : head;
  if (ends != nullptr && !ends->shape.empty()) s.vocab = ends->shape.front();
  if (ends != nullptr && config_.vocab != 0 && s.vocab != config_.vocab) {
    fail(*ends,
         cat("it has ", s.vocab, " rows, the configuration says vocabulary ", config_.vocab));
  }
  bind_tie(embedding, head);
  if (const auto* t = take(TensorRole::kEmbedding, {s.vocab, s.hidden})) {
    model_.embedding.parts.push_back({t, 0, s.vocab, s.hidden});
  }
  if (!s.tied) {
    if (const auto* t = take(TensorRole::kHead, {s.vocab, s.hidden})) {
      model_.head.parts.push_back({t, 0, s.vocab, s.hidden});
    }
  }
  model_.final_norm = take(TensorRole::kFinalNorm, {s.hidden});
}

/// Decides whether the head is the embedding. A stored copy of a tied head must have equal bytes.
void Binder::bind_tie(const TensorInfo* embedding, const TensorInfo* head) {
  Spec& s = model_.spec;
  s.tied = config_.tied.value_or(head == nullptr) && embedding != nullptr;
  if (!s.tied || head == nullptr) return;
  if (head->shape != embedding->shape) {
    fail(*head, cat("shape is ", to_string(head->shape), ", but the head is tied to the embedding ",
                    to_string(embedding->shape)));
  }
  const bool same = head->type_name == embedding->type_name && head->bytes == embedding->bytes &&
                    std::equal(head->data, head->data + head->bytes, embedding->data);
  if (!same) fail(*head, "the configuration ties the head to the embedding, but they differ");
  used_.insert(head);
}

void Binder::bind_rope_freqs() {
  RopeSpec& rope = model_.spec.ropes.front();
  const TensorInfo* t = take(TensorRole::kRopeFreqs, {rope.dims / 2});
  if (t == nullptr) return;
  if (config_.ropes.front().scaling.kind != RopeScaling::Kind::kNone) {
    fail(*t, "frequency factors together with another rotary scaling are not supported");
  }
  const std::vector<float> divisors = decode_tensor(*t);
  for (const float d : divisors) {
    if (!(d > 0) || d > 1e12f) fail(*t, cat("frequency factor ", d, " is not usable"));
  }
  divide_frequencies(rope, divisors);
}

/// Keeps angles in the range where sine and cosine are accurate, for any context length.
void Binder::check_frequencies() const {
  constexpr double kFrequencyMax = 8;
  for (const RopeSpec& rope : model_.spec.ropes) {
    for (const double f : rope.inverse_frequency) {
      if (f > 0 && f <= kFrequencyMax) continue;
      throw model_error(
          checkpoint_.name(), "config",
          cat("a rotary frequency is ", f, " radians a token after scaling, expected ",
              "more than 0 and at most ", kFrequencyMax));
    }
  }
}

BoundLayer Binder::bind_layer(std::int64_t i) {
  const Spec& s = model_.spec;
  BoundLayer layer;
  layer.attn_norm = take(TensorRole::kAttnNorm, {s.hidden}, i);
  layer.q_norm = take(TensorRole::kQNorm, {s.head_dim}, i);
  layer.k_norm = take(TensorRole::kKNorm, {s.head_dim}, i);
  layer.ffn_norm = take(TensorRole::kFfnNorm, {s.hidden}, i);
  layer.qkv = take_weight({{TensorRole::kQ, s.q_cols(), TensorRole::kQBias},
                           {TensorRole::kK, s.kv_cols(), TensorRole::kKBias},
                           {TensorRole::kV, s.kv_cols(), TensorRole::kVBias}},
                          s.hidden, i);
  layer.attn_out =
      take_weight({{TensorRole::kAttnOut, s.hidden, TensorRole::kAttnOutBias}}, s.q_cols(), i);
  if (at(s.sparse, i)) {
    bind_experts(i, layer);
  } else {
    bind_dense(i, layer);
  }
  check_biases(i, layer);
  return layer;
}

void Binder::bind_dense(std::int64_t i, BoundLayer& layer) {
  const Spec& s = model_.spec;
  layer.gate_up = take_weight({{TensorRole::kGate, s.ffn, TensorRole::kGateBias},
                               {TensorRole::kUp, s.ffn, TensorRole::kUpBias}},
                              s.hidden, i);
  layer.down = take_weight({{TensorRole::kDown, s.hidden, TensorRole::kDownBias}}, s.ffn, i);
}

BoundPart Binder::take_expert(TensorRole role, std::int64_t rows, std::int64_t cols,
                              std::int64_t layer, std::int64_t expert) {
  if (config_.naming == Naming::kHuggingFace) {
    return {take(role, {rows, cols}, layer, expert), 0, rows, cols};
  }
  const TensorInfo* stacked = take(role, {model_.spec.moe.experts, rows, cols}, layer);
  return {stacked, expert * rows, rows, cols};
}

void Binder::bind_experts(std::int64_t i, BoundLayer& layer) {
  const Spec& s = model_.spec;
  const std::int64_t ffn = s.moe.ffn;
  layer.router = take_weight({{TensorRole::kRouter, s.moe.experts}}, s.hidden, i);
  layer.router.rounds = false;
  for (std::int64_t e = 0; e < s.moe.experts; ++e) {
    layer.expert_gate_up.push_back(
        {.parts = {take_expert(TensorRole::kExpertGate, ffn, s.hidden, i, e),
                   take_expert(TensorRole::kExpertUp, ffn, s.hidden, i, e)},
         .biases = {}});
    layer.expert_down.push_back(
        {.parts = {take_expert(TensorRole::kExpertDown, s.hidden, ffn, i, e)}, .biases = {}});
  }
}

void Binder::check_biases(std::int64_t i, const BoundLayer& layer) const {
  const auto check = [&](std::string_view key, std::optional<bool> said, const BoundWeight& w) {
    if (!said || !w || *said == !w.biases.empty()) return;
    fail(cat("layer ", i, ": ", key, " is ", *said, ", but tensor ",
             printable(w.parts.front().tensor->name), " has ", *said ? "no bias" : "a bias"));
  };
  check("attention_bias", config_.attention_bias, layer.qkv);
  check("attention_bias", config_.attention_bias, layer.attn_out);
  check("mlp_bias", config_.mlp_bias, layer.gate_up);
  check("mlp_bias", config_.mlp_bias, layer.down);
}

void Binder::check_left_over() const {
  for (const TensorInfo& t : checkpoint_.tensors()) {
    if (used_.count(&t) != 0 || is_ignorable(t.name)) continue;
    fail(t, cat("architecture ", config_.architecture,
                " has no such tensor; a model that needs it would give wrong text"));
  }
}

void Binder::check_tokenizer() const {
  const TokenizerData* tokenizer = checkpoint_.tokenizer();
  const std::int64_t vocab = model_.spec.vocab;
  if (tokenizer == nullptr || vocab == 0) return;
  // Fewer tokens are fine: embedding matrices are often padded, and ids past the tokenizer's size
  // are never sampled.
  if (static_cast<std::int64_t>(tokenizer->tokens.size()) > vocab) {
    throw model_error(checkpoint_.name(), "tokenizer",
                      cat(tokenizer->tokens.size(), " tokens, but the model has ", vocab));
  }
}

}  // namespace

View BoundPart::view() const {
  const std::int64_t stride = row_bytes(*tensor->format, cols);
  // Kernels and packers only read weights; View has no const twin.
  auto* data = const_cast<std::byte*>(tensor->data);
  return {data == nullptr ? nullptr : data + first_row * stride, *tensor->format, rows, cols,
          stride};
}

std::vector<View> BoundWeight::views() const {
  std::vector<View> views;
  for (const BoundPart& part : parts) views.push_back(part.view());
  return views;
}

BoundModel bind_model(const Checkpoint& checkpoint) {
  const CanonicalFp canonical;  // frequencies are computed here
  return Binder(checkpoint).bind();
}

std::vector<float> decode_tensor(const TensorInfo& tensor) {
  std::vector<float> values(to_size(tensor.elements()));
  const std::int64_t cols = tensor.shape.empty() ? 1 : tensor.shape.back();
  const std::int64_t stride = row_bytes(*tensor.format, cols);
  for (std::int64_t r = 0; r < std::ssize(values) / cols; ++r) {
    decode_row(*tensor.format, tensor.data + r * stride, cols, values.data() + r * cols);
  }
  return values;
}

}  // namespace ingot
