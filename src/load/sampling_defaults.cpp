// Reads sampling defaults: one table of names and ranges for both containers.
#include "load/sampling_defaults.h"

#include <array>
#include <limits>

#include "base/text.h"

namespace ingot {

namespace {

struct RealSetting {
  std::string_view name;  ///< in generation_config.json
  std::string_view gguf;  ///< after "general.sampling."
  double low;
  double high;
  std::optional<double> SamplingDefaults::*member;
};

constexpr std::array<RealSetting, 4> kReals{{
    {"temperature", "temp", 0, 100, &SamplingDefaults::temperature},
    {"top_p", "top_p", 0, 1, &SamplingDefaults::top_p},
    {"min_p", "min_p", 0, 1, &SamplingDefaults::min_p},
    {"repetition_penalty", "penalty_repeat", 0.01, 100, &SamplingDefaults::repetition_penalty},
}};

constexpr std::int64_t kTopKMin = -1;  // off, as 0 is
constexpr std::int64_t kTopKMax = std::numeric_limits<std::int32_t>::max();

std::string key(std::string_view rest) { return cat("general.sampling.", rest); }

}  // namespace

SamplingDefaults read_sampling(GgufKeys& keys) {
  SamplingDefaults defaults;
  for (const RealSetting& s : kReals) {
    const std::optional<double> value = keys.float32(key(s.gguf));
    if (value && (*value < s.low || *value > s.high)) {
      keys.refuse(key(s.gguf), cat("must be from ", s.low, " to ", s.high));
    }
    defaults.*s.member = value;
  }
  const std::optional<std::int64_t> top_k = keys.int32(key("top_k"));
  if (top_k && *top_k < kTopKMin) keys.refuse(key("top_k"), "must be at least -1");
  if (top_k) defaults.top_k = static_cast<std::int32_t>(*top_k);
  return defaults;
}

SamplingDefaults read_sampling(const JsonKeys& keys) {
  SamplingDefaults defaults;
  for (const RealSetting& s : kReals) {
    const std::optional<double> value = keys.number(s.name);
    if (value && !(*value >= s.low && *value <= s.high)) {
      keys.refuse(s.name, *keys.get(s.name), cat("expected ", s.low, " to ", s.high));
    }
    defaults.*s.member = value;
  }
  if (const auto top_k = keys.integer("top_k", kTopKMin, kTopKMax)) {
    defaults.top_k = static_cast<std::int32_t>(*top_k);
  }
  return defaults;
}

}  // namespace ingot
