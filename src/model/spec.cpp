// Spec: a layer's attention, and lines of text for messages and fingerprints.
#include "model/spec.h"

#include "base/index.h"
#include "base/text.h"

namespace ingot {

namespace {

template <class T>
std::string list(const std::vector<T>& values) {
  std::string out;
  for (const auto value : values) out += cat(out.empty() ? "" : " ", value);
  return out;
}

std::string to_string(const RopeSpec& r) {
  return cat(r.adjacent_pairs ? "adjacent" : "half-split", " dims ", r.dims, " factor ", r.factor,
             " frequencies ", list(r.inverse_frequency));
}

std::string_view to_string(Act act) {
  switch (act) {
    case Act::kSilu:
      return "silu";
    case Act::kGeluTanh:
      return "gelu_tanh";
    case Act::kGeluErf:
      return "gelu_erf";
    case Act::kTanh:
      return "tanh";
    case Act::kGptOss:
      return "gpt_oss";
  }
  return "?";
}

}  // namespace

Attention attention_of(const Spec& spec, std::int64_t i) {
  return {.heads = spec.heads,
          .kv_heads = spec.kv_heads,
          .head_dim = spec.head_dim,
          .value_dim = spec.head_dim,
          .scale = spec.attention_scale,
          .score_cap = spec.score_cap,
          .causal = spec.causal,
          .window = at(spec.window, i)};
}

std::string to_string(const Spec& s) {
  std::string out;
  const auto line = [&](std::string_view name, const auto& value) {
    out += cat(name, " = ", value, "\n");
  };
  line("architecture", s.architecture);
  line("layers", s.layers);
  line("hidden", s.hidden);
  line("ffn", s.ffn);
  line("vocab", s.vocab);
  line("context", s.context);
  line("heads", s.heads);
  line("kv_heads", s.kv_heads);
  line("head_dim", s.head_dim);
  line("norm", std::string_view(s.norm == NormKind::kRms ? "rms" : "layer"));
  line("norm_eps", s.norm_eps);
  line("attention_scale", s.attention_scale);
  line("score_cap", s.score_cap);
  line("causal", s.causal);
  line("window", list(s.window));
  for (const RopeSpec& r : s.ropes) line("rope table", to_string(r));
  line("rope", list(s.rope));
  line("act", to_string(s.act));
  line("gated", s.gated);
  line("experts", s.moe.experts);
  line("experts_used", s.moe.used);
  line("expert_ffn", s.moe.ffn);
  line("renormalise", s.moe.renormalise);
  line("sparse", list(s.sparse));
  line("tied", s.tied);
  return out;
}

}  // namespace ingot
