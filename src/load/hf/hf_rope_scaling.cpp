// Reads kinds of rotary scaling: linear, llama3, yarn, longrope, proportional and fixed NTK.
#include "load/hf/hf_rope_scaling.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/error.h"
#include "base/math_double.h"
#include "base/text.h"

namespace ingot {

namespace {

/// Members that a rope object may have. Any other member could change the frequencies in an unknown
/// way.
constexpr std::array kKnownKeys = std::to_array<std::string_view>({
    "rope_type", "type", "rope_theta", "partial_rotary_factor", "factor", "low_freq_factor",
    "high_freq_factor", "original_max_position_embeddings", "attention_factor", "beta_fast",
    "beta_slow", "mscale", "mscale_all_dim", "truncate", "short_factor", "long_factor",
    "finetuned",  // a note in early YaRN checkpoints, without effect
});

/// The original context, which files state in the rope object, outside of it, or in both.
constexpr std::string_view kOriginal = "original_max_position_embeddings";

/// YaRN's factor m of a scaling by `factor`. Source: YaRN, arXiv:2309.00071; DeepSeek-V2.
double yarn_scale(double factor, double mscale) {
  return factor <= 1 ? 1 : 0.1 * mscale * math::log(factor) + 1;
}

class ScalingReader {
 public:
  ScalingReader(const HfKeys& keys, const JsonKeys& inner, const RopeHead& head, RopeConfig& rope,
                Config& config)
      : keys_(keys), inner_(inner), head_(head), rope_(rope), config_(config) {}

  void read() {
    rope_.scaling.kind = RopeScaling::Kind::kNone;
    const std::string_view kind = kind_name();
    if (kind == "linear") {
      read_linear();
    } else if (kind == "llama3") {
      read_llama3();
    } else if (kind == "longrope" || kind == "su") {
      read_longrope();
    } else if (kind == "yarn") {
      // Early Phi-3 files call longrope so.
      inner_.get("short_factor") != nullptr ? read_longrope() : read_yarn();
    } else if (kind == "proportional") {
      read_proportional();
    } else if (kind == "dynamic" && keys_.reads("alpha")) {
      read_fixed_ntk();
    } else if (kind != "default") {
      refuse_kind();
    }
  }

 private:
  std::string_view kind_key() const {
    return inner_.get("rope_type") != nullptr ? "rope_type" : "type";
  }

  std::string_view kind_name() const {
    const std::string* type = inner_.text("rope_type");
    const std::string* old_type = inner_.text("type");
    if (type != nullptr && old_type != nullptr && *type != *old_type) {
      inner_.refuse("type", "it differs from rope_type");
    }
    if (type == nullptr) type = old_type;
    if (type != nullptr) return *type;
    // Without a type the object may have theta only, as in the newest spelling.
    if (inner_.get("factor") != nullptr) inner_.missing("rope_type");
    return "default";
  }

  [[noreturn]] void refuse_kind() const {
    inner_.refuse(kind_key(), keys_.reads("alpha")
                                  ? "supported are default, linear, llama3, yarn, longrope, "
                                    "proportional, dynamic with alpha"
                                  : "supported are default, linear, llama3, yarn, longrope, "
                                    "proportional");
  }

  void read_factor(double min) {
    rope_.scaling.factor = inner_.required_number("factor");
    if (!(rope_.scaling.factor >= min)) inner_.refuse("factor", cat("it must be at least ", min));
  }

  /// Reads the original context. `absent`: its value if the file does not state it; 0: an error.
  void read_original(std::int64_t absent) {
    const auto stated = inner_.integer(kOriginal, 1, kContextMax);
    const auto outer = keys_.members().integer(kOriginal, 1, kContextMax);
    if (stated && outer && *stated != *outer) {
      keys_.members().refuse(kOriginal, cat("the rotary parameters say ", *stated));
    }
    if (!stated && !outer && absent == 0) inner_.missing(kOriginal);
    rope_.scaling.original_context = static_cast<double>(stated ? *stated : outer.value_or(absent));
  }

  void read_linear() {
    rope_.scaling.kind = RopeScaling::Kind::kLinear;
    rope_.scaling.factor = inner_.required_number("factor");
  }

  void read_llama3() {
    rope_.scaling.kind = RopeScaling::Kind::kLlama3;
    read_factor(1);
    rope_.scaling.low_freq_factor = inner_.required_number("low_freq_factor");
    rope_.scaling.high_freq_factor = inner_.required_number("high_freq_factor");
    read_original(0);
  }

  void read_yarn() {
    RopeScaling& scaling = rope_.scaling;
    scaling.kind = RopeScaling::Kind::kYarn;
    read_factor(1);
    read_original(config_.context);
    scaling.beta_fast = inner_.number("beta_fast").value_or(scaling.beta_fast);
    scaling.beta_slow = inner_.number("beta_slow").value_or(scaling.beta_slow);
    scaling.truncate = inner_.boolean("truncate").value_or(scaling.truncate);
    scaling.attention_factor = inner_.number("attention_factor");
    const double mscale = inner_.number("mscale").value_or(0);
    const double all_dim = inner_.number("mscale_all_dim").value_or(0);
    const bool both = mscale != 0 && all_dim != 0;
    // Public implementations differ in what one of them alone does.
    if (!both && (all_dim != 0 || (mscale != 0 && mscale != 1))) {
      inner_.refuse(all_dim != 0 ? "mscale_all_dim" : "mscale",
                    "mscale and mscale_all_dim are supported only together");
    }
    if (!both) return;
    const double m_all = yarn_scale(scaling.factor, all_dim);
    if (!scaling.attention_factor) {
      scaling.attention_factor = yarn_scale(scaling.factor, mscale) / m_all;
    }
    if (config_.mla.kv_rank > 0) {
      config_.attention_scale = m_all * m_all / std::sqrt(static_cast<double>(config_.head_dim));
    }
  }

  std::vector<double> read_factors(std::string_view name) const {
    const Json::Array& list = inner_.required_array(name);
    if (std::ssize(list) != rope_.dims / 2) {
      inner_.fail(cat(inner_.prefix(), name, " has ", list.size(), " entries for ", rope_.dims / 2,
                      " pairs of a head"));
    }
    std::vector<double> factors;
    for (const Json& entry : list) {
      const auto factor = entry.number();
      if (!factor || !(*factor > 0)) {
        inner_.refuse(cat("an entry of ", name), entry, "expected a number above 0");
      }
      factors.push_back(*factor);
    }
    return factors;
  }

  void read_longrope() {
    RopeScaling& scaling = rope_.scaling;
    scaling.kind = RopeScaling::Kind::kLongrope;
    scaling.short_factors = read_factors("short_factor");
    scaling.long_factors = read_factors("long_factor");
    read_original(0);
    const double ratio = static_cast<double>(config_.context) / scaling.original_context;
    scaling.factor = inner_.number("factor").value_or(ratio);
    scaling.attention_factor = inner_.number("attention_factor");
    if (!scaling.attention_factor && scaling.factor <= 1) scaling.attention_factor = 1;
  }

  void read_proportional() {
    rope_.scaling.kind = RopeScaling::Kind::kProportional;
    rope_.scaling.factor = inner_.number("factor").value_or(1);
    const double rotated = head_.fraction * static_cast<double>(head_.head_dim);
    rope_.scaling.pairs = static_cast<std::int64_t>(std::floor(rotated / 2));
    rope_.dims = head_.head_dim;
  }

  /// NTK scaling with a fixed alpha only raises theta. Source: transformers, hunyuan_v1_dense.
  void read_fixed_ntk() {
    const double alpha = inner_.required_number("alpha");
    if (!(alpha > 0)) inner_.refuse("alpha", "it must be above 0");
    if (rope_.dims <= 2) inner_.refuse("alpha", "it needs heads of more than 2 rotated elements");
    const auto dims = static_cast<double>(rope_.dims);
    rope_.theta *= math::pow(alpha, dims / (dims - 2));
  }

  const HfKeys& keys_;
  const JsonKeys& inner_;
  const RopeHead& head_;
  RopeConfig& rope_;
  Config& config_;
};

void refuse_unknown(const HfKeys& keys, const JsonKeys& inner) {
  for (const auto& [key, value] : inner.members()) {
    const bool known = std::find(kKnownKeys.begin(), kKnownKeys.end(), key) != kKnownKeys.end();
    const bool own = key == "alpha" && keys.reads(key);
    if (known || own || value.is_null()) continue;
    const std::string name = inner.prefix() + key;
    if (keys.notes().accepts(inner.file(), name, shown(value))) continue;
    inner.refuse(printable(key, 64), value, cat("it is not supported", LoadNotes::advice(name)));
  }
}

}  // namespace

void read_hf_rope_scaling(const HfKeys& keys, const JsonKeys& inner, const RopeHead& head,
                          RopeConfig& rope, Config& config) {
  refuse_unknown(keys, inner);
  ScalingReader(keys, inner, head, rope, config).read();
}

}  // namespace ingot
