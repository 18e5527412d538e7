// Writes sampling defaults with the types that GGUF's keys have, and names those without a key.
#include "convert/sampling_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "base/text.h"

namespace ingot {

namespace {

/// Bytes of the lost members that a warning shows.
constexpr std::size_t kShownMax = 400;

/// Members of generation_config.json that are no sampling defaults.
constexpr std::array kOther = std::to_array<std::string_view>(
    {"bos_token_id", "eos_token_id", "pad_token_id", "transformers_version", "_from_model_config"});

bool says_nothing(std::string_view name, const Json& value) {
  const bool* flag = value.as_bool();
  return value.is_null() || (name == "do_sample" && flag != nullptr && *flag) ||
         std::find(kOther.begin(), kOther.end(), name) != kOther.end();
}

/// The value as a number of the key's type, int32 or float32; nothing if the type lacks it.
std::optional<double> fitting(const Json& value, bool whole) {
  using Int = std::numeric_limits<std::int32_t>;
  if (whole) {
    const auto number = value.whole();
    if (!number || *number < Int::min() || *number > Int::max()) return std::nullopt;
    return static_cast<double>(*number);
  }
  const auto number = value.number();
  const bool fits = number && std::fabs(*number) <= double{std::numeric_limits<float>::max()};
  return fits ? number : std::nullopt;
}

}  // namespace

void write_sampling(const Json& stated, std::span<const SamplingKey> keys, GgufValues& out,
                    std::vector<std::string>& warnings) {
  Json lost = Json::object();
  for (const auto& [name, value] : *stated.as_object()) {
    if (says_nothing(name, value)) continue;
    const auto key = std::find_if(keys.begin(), keys.end(),
                                  [&](const SamplingKey& k) { return k.name == name; });
    const auto number = key == keys.end() ? std::nullopt : fitting(value, key->whole);
    if (!number) {
      lost.set(name, value);
    } else if (key->whole) {
      out.set_int32(cat("general.sampling.", key->key), static_cast<std::int32_t>(*number));
    } else {
      out.set_float32(cat("general.sampling.", key->key), static_cast<float>(*number));
    }
  }
  if (lost.as_object()->empty()) return;
  warnings.push_back(cat("GGUF has no keys for these values of generation_config.json: ",
                         printable(lost.dump(), kShownMax)));
}

}  // namespace ingot
