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

 private:
  const std::string& file_;
};

void check_sizes(const Config& c, const Checks& check) {
  check.within("the number of layers", c.layers, 1, kLayersMax);
  check.within("the hidden size", c.hidden, 1, kHiddenMax);
  check.within("the number of heads", c.heads, 1, kHeadsMax);
  check.within("the number of kv heads", c.kv_heads, 1, kHeadsMax);
  if (c.kv_heads > c.heads || c.heads % c.kv_heads != 0) {
    check.fail(cat(c.heads, " heads do not divide into ", c.kv_heads, " kv heads"));
  }
  check.within("the head size", c.head_dim, 1, kHeadDimMax);
  // A mixture of experts need not state the width of a dense feed-forward.
  check.within("the feed-forward size", c.ffn, c.experts > 0 ? 0 : 1, kFfnMax);
  check.within("the context length", c.context, 1, kContextMax);
  check.within("the vocabulary size", c.vocab, 0, kVocabMax);
  if (!(c.norm_eps > 0 && c.norm_eps < 1)) {
    check.fail(cat("the norm's epsilon is ", c.norm_eps, ", it must be between 0 and 1"));
  }
}

void check_rope(const Config& c, const Checks& check) {
  check.within("the rotary theta", c.ropes.front().theta, 1.0, 1e12);
  check.within("the number of rotated elements", c.ropes.front().dims, 2, c.head_dim);
  if (c.ropes.front().dims % 2 != 0) {
    check.fail(
        cat("the number of rotated elements is ", c.ropes.front().dims, ", it must be even"));
  }
  const RopeScaling& r = c.ropes.front().scaling;
  if (r.kind == RopeScaling::Kind::kNone) return;
  check.positive("the rope scaling factor", r.factor);
  if (r.kind == RopeScaling::Kind::kLinear) return;
  check.within("the rope scaling's original context", r.original_context, 1.0,
               static_cast<double>(kContextMax));
  if (r.kind == RopeScaling::Kind::kLlama3) {
    check.positive("rope scaling's low_freq_factor", r.low_freq_factor);
    check.positive("rope scaling's high_freq_factor", r.high_freq_factor);
    if (r.low_freq_factor >= r.high_freq_factor) {
      check.fail(cat("rope scaling's low_freq_factor ", r.low_freq_factor,
                     " is not below its high_freq_factor ", r.high_freq_factor));
    }
    return;
  }
  check.positive("rope scaling's beta_fast", r.beta_fast);
  check.positive("rope scaling's beta_slow", r.beta_slow);
  if (r.beta_fast < r.beta_slow) {
    check.fail(
        cat("rope scaling's beta_fast ", r.beta_fast, " is below its beta_slow ", r.beta_slow));
  }
  if (r.attention_factor) check.positive("rope scaling's attention_factor", *r.attention_factor);
}

void check_layer_lists(const Config& c, const Checks& check) {
  const auto layers = to_size(c.layers);
  if (!c.window.empty() && c.window.size() != layers) {
    check.fail(cat(c.window.size(), " sliding windows for ", c.layers, " layers"));
  }
  for (const std::int64_t window : c.window) {
    check.within("a sliding window", window, 0, kContextMax);
  }
  if (!c.dense_layer.empty() && c.dense_layer.size() != layers) {
    check.fail(cat(c.dense_layer.size(), " dense layer marks for ", c.layers, " layers"));
  }
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
  check.within("layers times experts", c.layers * c.experts, 1, kExpertsInAllMax);
  check.within("the experts' feed-forward size", c.expert_ffn, 1, kFfnMax);
  const bool any_dense =
      std::find(c.dense_layer.begin(), c.dense_layer.end(), true) != c.dense_layer.end();
  if (any_dense) check.within("the dense layers' feed-forward size", c.ffn, 1, kFfnMax);
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
  check_rope(config, check);
  check_layer_lists(config, check);
  check_experts(config, check);
  check_tokens(config, check);
}

}  // namespace ingot
