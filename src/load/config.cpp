// validate_config: checks the values of a Config and their relations.
#include "load/config.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <type_traits>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"

namespace ingot {

namespace {

/// Limits on factors, on caps of logits and scores, and on the epsilon of norms. They are far from
/// the values of real models, and float holds each of them: a smaller one would become 0, which
/// stands for no cap, and a larger one infinite.
constexpr double kFactorMin = 1e-6;
constexpr double kFactorMax = 1e6;
constexpr double kCapMin = 1e-3;
constexpr double kCapMax = 1e9;
constexpr double kEpsilonMin = 1e-20;
/// Limit on MLA's cache row, latent and rotated part: the backend's largest head.
constexpr std::int64_t kMlaRowMax = 576;

/// Checks that throw an error with the field's name and value.
class Checks {
 public:
  explicit Checks(const std::string& file) : file_(file) {}

  [[noreturn]] void fail(std::string_view reason) const {
    throw model_error(file_, "config", reason);
  }

  /// T is std::int64_t or double.
  template <class T>
  void within(std::string_view name, T value, std::type_identity_t<T> min,
              std::type_identity_t<T> max) const {
    // This form of the comparison also fails for NaN.
    if (!(value >= min && value <= max)) {
      fail(cat(name, " is ", value, ", accepted are ", min, " to ", max));
    }
  }

  void positive(std::string_view name, double value) const {
    if (!(value > 0) || !std::isfinite(value)) {
      fail(cat(name, " is ", value, ", it must be positive and finite"));
    }
  }

  void factor(std::string_view name, double value) const {
    within(name, value, kFactorMin, kFactorMax);
  }

  /// 0 stands for no cap.
  void cap(std::string_view name, double value) const {
    if (value != 0) within(name, value, kCapMin, kCapMax);
  }

  void epsilon(std::string_view name, double value) const {
    if (!(value >= kEpsilonMin && value < 1)) {
      fail(cat(name, " is ", value, ", it must be at least ", kEpsilonMin, " and below 1"));
    }
  }

 private:
  const std::string& file_;
};

/// The sizes of layer `layer`.
LayerSizes sizes_of(const Config& c, std::int64_t layer) {
  if (c.sizes.empty()) return {c.heads, c.kv_heads, c.head_dim, c.ffn};
  return at(c.sizes, layer);
}

/// `where`: empty, or the layer that has these sizes, for messages.
void check_layer_sizes(const Config& c, const LayerSizes& s, const Checks& check,
                       std::string_view where) {
  check.within(cat("the number of heads", where), s.heads, 1, kHeadsMax);
  check.within(cat("the number of kv heads", where), s.kv_heads, 1, kHeadsMax);
  if (s.kv_heads > s.heads || s.heads % s.kv_heads != 0) {
    check.fail(cat(s.heads, " heads do not divide into ", s.kv_heads, " kv heads", where));
  }
  check.within(cat("the head size", where), s.head_dim, 1, kHeadDimMax);
  // A mixture of experts need not state the width of a dense feed-forward.
  check.within(cat("the feed-forward size", where), s.ffn, c.experts > 0 ? 0 : 1, kFfnMax);
}

void check_sizes(const Config& c, const Checks& check) {
  check.within("the number of layers", c.layers, 1, kLayersMax);
  check.within("the hidden size", c.hidden, 1, kHiddenMax);
  check_layer_sizes(c, {c.heads, c.kv_heads, c.head_dim, c.ffn}, check, "");
  check.within("the context length", c.context, 1, kContextMax);
  check.within("the vocabulary size", c.vocab, 0, kVocabMax);
  check.epsilon("the norm's epsilon", c.norm_eps);
  check.within("the number of layers for multi-token prediction", c.mtp_layers, 0, kLayersMax);
  check.within("the width of a layer's own embedding", c.layer_input, 0, kHiddenMax);
}

void check_factors(const Config& c, const Checks& check) {
  check.factor("the factor of embeddings", c.embed_scale);
  check.factor("the factor of sublayers", c.residual_scale);
  check.factor("the factor of logits", c.logit_scale);
  if (c.attention_scale) check.factor("the factor of attention scores", *c.attention_scale);
  check.cap("the cap of logits", c.logit_cap);
  check.cap("the cap of attention scores", c.score_cap);
}

void check_mla(const Config& c, const Checks& check) {
  const MlaSizes& mla = c.mla;
  if (mla.kv_rank == 0) return;
  check.within("the rank of queries", mla.q_rank, 0, kHiddenMax);
  check.within("the rank of keys and values", mla.kv_rank, 1, kMlaRowMax);
  check.within("the size of a head's part without rotation", mla.nope, 1, kHeadDimMax);
  check.within("the size of a head's rotated part", mla.rope, 2, kMlaRowMax - mla.kv_rank);
  check.within("the size of a value", mla.value, 1, kHeadDimMax);
  if (mla.norm_eps) check.epsilon("the epsilon of the latents' norms", *mla.norm_eps);
}

void check_longrope(const RopeConfig& rope, const Checks& check) {
  const RopeScaling& r = rope.scaling;
  for (const std::vector<double>* factors : {&r.short_factors, &r.long_factors}) {
    // In GGUF files, the factors are tensors.
    if (!factors->empty() && std::ssize(*factors) != rope.dims / 2) {
      check.fail(
          cat("rope scaling has ", factors->size(), " factors for ", rope.dims / 2, " pairs"));
    }
    for (const double factor : *factors) check.positive("a factor of rope scaling", factor);
  }
  if (!r.attention_factor && !(r.original_context > 1)) {
    check.fail(
        cat("the rope scaling's original context is ", r.original_context, ", it must be above 1"));
  }
}

void check_yarn(const RopeScaling& r, const Checks& check) {
  check.positive("rope scaling's beta_fast", r.beta_fast);
  check.positive("rope scaling's beta_slow", r.beta_slow);
  if (r.beta_fast < r.beta_slow) {
    check.fail(
        cat("rope scaling's beta_fast ", r.beta_fast, " is below its beta_slow ", r.beta_slow));
  }
}

void check_llama3(const RopeScaling& r, const Checks& check) {
  check.positive("rope scaling's low_freq_factor", r.low_freq_factor);
  check.positive("rope scaling's high_freq_factor", r.high_freq_factor);
  if (r.low_freq_factor >= r.high_freq_factor) {
    check.fail(cat("rope scaling's low_freq_factor ", r.low_freq_factor,
                   " is not below its high_freq_factor ", r.high_freq_factor));
  }
}

void check_scaling(const RopeConfig& rope, const Checks& check) {
  using Kind = RopeScaling::Kind;
  const RopeScaling& r = rope.scaling;
  if (r.kind == Kind::kNone) return;
  check.factor("the rope scaling factor", r.factor);
  if (r.kind == Kind::kLinear) return;
  if (r.kind == Kind::kProportional) {
    check.within("the number of rotated pairs", r.pairs, 0, rope.dims / 2);
    return;
  }
  check.within("the rope scaling's original context", r.original_context, 1.0,
               static_cast<double>(kContextMax));
  if (r.kind == Kind::kLlama3) check_llama3(r, check);
  if (r.kind == Kind::kYarn) check_yarn(r, check);
  if (r.kind == Kind::kLongrope) check_longrope(rope, check);
  if (r.attention_factor) check.factor("rope scaling's attention_factor", *r.attention_factor);
}

/// Checks the rotary embedding that layer `layer` has.
void check_rope(const Config& c, std::int64_t layer, const Checks& check) {
  const std::int32_t index = c.rope_layer.empty() ? 0 : at(c.rope_layer, layer);
  check.within("a layer's rotary embedding", std::int64_t{index}, -1, std::ssize(c.ropes) - 1);
  if (index < 0) return;
  const RopeConfig& rope = at(c.ropes, index);
  const std::int64_t head = c.mla.kv_rank > 0 ? c.mla.rope : sizes_of(c, layer).head_dim;
  check.within("the rotary theta", rope.theta, 1.0, 1e12);
  check.within("the number of rotated elements", rope.dims, 2, head);
  if (rope.dims % 2 != 0) {
    check.fail(cat("the number of rotated elements is ", rope.dims, ", it must be even"));
  }
  check_scaling(rope, check);
}

/// Checks that a list about layers is empty or has one entry for each layer.
void check_length(const Config& c, const Checks& check, std::string_view name, std::size_t size) {
  if (size == 0 || size == to_size(c.layers)) return;
  check.fail(cat(size, " ", name, " for ", c.layers, " layers"));
}

void check_layer_lists(const Config& c, const Checks& check) {
  check_length(c, check, "sliding windows", c.window.size());
  check_length(c, check, "dense layer marks", c.dense_layer.size());
  check_length(c, check, "layer sizes", c.sizes.size());
  check_length(c, check, "rotary choices", c.rope_layer.size());
  check_length(c, check, "sources of keys", c.kv_source.size());
  check_length(c, check, "marks of values", c.values_from_keys.size());
  for (const std::int64_t window : c.window) {
    check.within("a sliding window", window, 0, kContextMax);
  }
  for (std::int64_t layer = 0; layer < std::ssize(c.sizes); ++layer) {
    check_layer_sizes(c, at(c.sizes, layer), check, cat(" of layer ", layer));
  }
}

/// Checks that a layer's source of keys and values is an earlier layer of equal geometry.
void check_sources(const Config& c, const Checks& check) {
  for (std::int64_t layer = 0; layer < std::ssize(c.kv_source); ++layer) {
    const std::int32_t source = at(c.kv_source, layer);
    if (source == -1) continue;
    check.within("the source of a layer's keys", std::int64_t{source}, -1, layer - 1);
    const LayerSizes own = sizes_of(c, layer);
    const LayerSizes other = sizes_of(c, source);
    const bool same_window = c.window.empty() || at(c.window, layer) == at(c.window, source);
    if (at(c.kv_source, source) != -1 || own.kv_heads != other.kv_heads ||
        own.head_dim != other.head_dim || !same_window) {
      check.fail(cat("layer ", layer, " cannot read the keys of layer ", source));
    }
  }
}

void check_router(const Config& c, const Checks& check) {
  const RouterRules& r = c.router;
  check.factor("the factor of experts", r.scale);
  check.within("the number of expert groups", r.groups, 1, c.experts);
  if (c.experts % r.groups != 0) {
    check.fail(cat(c.experts, " experts do not divide into ", r.groups, " groups"));
  }
  check.within("the number of expert groups used", r.groups_used, 1, r.groups);
  const std::int64_t group = c.experts / r.groups;
  check.within("the number of experts used", c.experts_used, 1, r.groups_used * group);
  if (r.groups > 1 && r.groups_by_two_best)
    check.within("the size of a group", group, 2, c.experts);
}

void check_experts(const Config& c, const Checks& check) {
  check.within("the number of experts", c.experts, 0, kExpertsMax);
  if (c.experts == 0) {
    if (c.experts_used != 0 || !c.dense_layer.empty()) {
      check.fail(cat(c.experts_used, " experts are used of none"));
    }
    return;
  }
  check.within("the number of experts used", c.experts_used, 1, c.experts);
  check.within("the experts' feed-forward size", c.expert_ffn, 1, kFfnMax);
  check.within("the shared experts' feed-forward size", c.shared_ffn, 0, kFfnMax);
  const bool any_dense =
      std::find(c.dense_layer.begin(), c.dense_layer.end(), true) != c.dense_layer.end();
  if (any_dense) check.within("the dense layers' feed-forward size", c.ffn, 1, kFfnMax);
  check_router(c, check);
}

void check_label_tokens(const Config& c, const Checks& check) {
  const std::int64_t ids = c.vocab > 0 ? c.vocab : kVocabMax;
  for (const std::int32_t id : c.label_tokens) {
    check.within("a label's token id", std::int64_t{id}, 0, ids - 1);
  }
  if (std::ssize(c.label_tokens) != c.labels || !c.dense.empty() || !c.causal) {
    check.fail("labels by tokens are only for decoders without another head");
  }
}

void check_embedder(const Config& c, const Checks& check) {
  check.within("the number of token types", c.token_types, 0, kVocabMax);
  check.within("the first position's row", c.position_offset, 0, kContextMax);
  check.within("the number of buckets of positions", c.relative_buckets, 0, kContextMax);
  check.within("the number of labels", c.labels, 0, kLabelsMax);
  std::int64_t width = c.hidden;
  for (const DenseLayer& layer : c.dense) {
    if (layer.inputs != width) {
      check.fail(cat("layer ", printable(layer.weight), " after pooling has ", layer.inputs,
                     " inputs for ", width, " values"));
    }
    check.within("the outputs of a layer after pooling", layer.outputs, 1, kHiddenMax);
    width = layer.outputs;
  }
  if (!c.label_tokens.empty()) {
    check_label_tokens(c, check);
  } else if (c.labels > 0 && width != c.labels) {
    check.fail(cat(width, " outputs for ", c.labels, " labels"));
  }
}

void check_tokens(const Config& c, const Checks& check) {
  const std::int64_t ids = c.vocab > 0 ? c.vocab : kVocabMax;
  for (const EndToken& end : c.ends) {
    check.within("an eos token id", std::int64_t{end.id}, 0, ids - 1);
  }
  if (c.bos_id) check.within("the bos token id", std::int64_t{*c.bos_id}, 0, ids - 1);
}

}  // namespace

void add_end(std::vector<EndToken>& ends, std::int32_t id, std::string_view source) {
  const auto has_id = [id](const EndToken& end) { return end.id == id; };
  if (std::none_of(ends.begin(), ends.end(), has_id)) ends.push_back({id, std::string(source)});
}

std::vector<std::int32_t> ids_of(std::span<const EndToken> ends) {
  std::vector<std::int32_t> ids;
  for (const EndToken& end : ends) ids.push_back(end.id);
  return ids;
}

void validate_config(const Config& config, const std::string& file) {
  const Checks check(file);
  check_sizes(config, check);
  check_factors(config, check);
  check_mla(config, check);
  check_layer_lists(config, check);
  check_sources(config, check);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) check_rope(config, layer, check);
  check_experts(config, check);
  check_embedder(config, check);
  check_tokens(config, check);
}

}  // namespace ingot
