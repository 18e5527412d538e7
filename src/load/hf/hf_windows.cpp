// Reads sliding windows of config.json: layer_types, or each family's rule.
#include <algorithm>
#include <optional>
#include <string_view>

#include "base/index.h"
#include "base/text.h"
#include "load/architectures.h"
#include "load/hf/hf_parts.h"

namespace ingot {

namespace {

/// transformers' default of max_window_layers.
constexpr std::int64_t kDefaultMaxWindowLayers = 28;

/// Whether each layer has a sliding window, if the file lists the layers.
std::optional<HfSlides> read_layer_types(const JsonKeys& keys, const Config& c) {
  const Json::Array* list = keys.array("layer_types");
  if (list == nullptr) return std::nullopt;
  if (std::ssize(*list) != c.layers) {
    keys.fail(cat("layer_types has ", list->size(), " entries for ", c.layers, " layers"));
  }
  HfSlides slides;
  for (const Json& entry : *list) {
    const std::string* type = entry.as_string();
    if (type == nullptr || (*type != "full_attention" && *type != "sliding_attention")) {
      keys.refuse("an entry of layer_types", entry,
                  "supported are full_attention and sliding_attention");
    }
    slides.push_back(*type == "sliding_attention");
  }
  return slides;
}

/// The pattern of full layers that applies if the file does not list layers.
HfSlides pattern_slides(const HfKeys& keys, const Config& c) {
  LayerPattern pattern = find_architecture(keys.family().architecture)->windows;
  if (keys.family().windows == HfWindows::kPattern) {
    pattern.period = keys.integer("sliding_window_pattern", 1, kLayersMax).value_or(pattern.period);
  }
  HfSlides slides;
  for (std::int64_t layer = 0; layer < c.layers; ++layer) {
    slides.push_back(!pattern.is_full(layer));
  }
  return slides;
}

HfSlides late_slides(const HfKeys& keys, const Config& c) {
  const std::int64_t first =
      keys.members().integer("max_window_layers", 0, kContextMax).value_or(kDefaultMaxWindowLayers);
  HfSlides slides;
  for (std::int64_t layer = 0; layer < c.layers; ++layer) slides.push_back(layer >= first);
  return slides;
}

/// Returns the layers with a window by the family's rule. Empty: no layer has a window.
HfSlides slides_by_rule(const HfKeys& keys, const Config& c, std::int64_t tokens) {
  switch (keys.family().windows) {
    case HfWindows::kNone:
      return {};
    case HfWindows::kAll:
      return tokens == 0 ? HfSlides{} : HfSlides(to_size(c.layers), true);
    case HfWindows::kLate: {
      HfSlides slides = late_slides(keys, c);
      return tokens == 0 ? HfSlides{} : slides;
    }
    case HfWindows::kListed:
      if (tokens != 0) {
        keys.members().refuse("use_sliding_window", "it is supported only with layer_types");
      }
      return {};
    case HfWindows::kPattern:
      return pattern_slides(keys, c);
  }
  return {};
}

/// Returns the window's tokens; 0: the window is not in use.
std::int64_t read_tokens(const HfKeys& keys) {
  const JsonKeys& members = keys.members();
  const bool in_use = members.boolean("use_sliding_window").value_or(false);
  const HfWindows rule = keys.family().windows;
  if (rule == HfWindows::kNone) {
    if (in_use || members.integer("sliding_window", 0, kContextMax).value_or(0) != 0) {
      members.fail(cat("a sliding_window is not supported for ", keys.family().model_type));
    }
    return 0;
  }
  if (rule == HfWindows::kLate || rule == HfWindows::kListed) {
    if (in_use && !members.mentions("sliding_window")) members.missing("sliding_window");
    // Where the window is off, some files state 0.
    const auto tokens = members.integer("sliding_window", in_use ? 1 : 0, kContextMax);
    return in_use ? tokens.value_or(0) : 0;
  }
  return keys.integer("sliding_window", 1, kContextMax).value_or(0);
}

void check_listed(const HfKeys& keys, const HfSlides& listed, std::int64_t tokens) {
  const auto sliding = std::count(listed.begin(), listed.end(), true);
  if (sliding > 0 && tokens == 0) {
    keys.members().fail(
        cat("layer_types has ", sliding, " sliding layers, but no window is in use"));
  }
  if (keys.family().windows == HfWindows::kAll && tokens != 0 && sliding != std::ssize(listed)) {
    keys.members().fail(cat("sliding_window is on all layers of ", keys.family().model_type,
                            ", but layer_types has ", std::ssize(listed) - sliding, " full ones"));
  }
}

}  // namespace

HfSlides read_hf_windows(const HfKeys& keys, Config& config) {
  const std::int64_t tokens = read_tokens(keys);
  const auto listed = read_layer_types(keys.members(), config);
  if (listed) check_listed(keys, *listed, tokens);
  HfSlides slides = listed ? *listed : slides_by_rule(keys, config, tokens);
  if (keys.family().last_layer_is_full && !slides.empty() && slides.back()) {
    keys.notes().detail(cat("layer ", config.layers - 1, ", the last one, is taken as full"));
    slides.back() = false;
  }
  const bool any = std::find(slides.begin(), slides.end(), true) != slides.end();
  if (tokens == 0 || !any) return slides;
  // An encoder's window counts tokens of both sides together, without the token itself.
  const std::int64_t distance = config.causal ? tokens : tokens / 2 + 1;
  for (const bool slide : slides) config.window.push_back(slide ? distance : 0);
  return slides;
}

}  // namespace ingot
