// Reads rotary embeddings of config.json: the old and the new spelling, one for all layers or one
// for each kind of layer.
#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "load/architectures.h"
#include "load/hf/hf_parts.h"
#include "load/hf/hf_rope_scaling.h"

namespace ingot {

namespace {

constexpr std::string_view kFull = "full_attention";
constexpr std::string_view kSliding = "sliding_attention";

/// Reads rotary embeddings of one file.
class RopeReader {
 public:
  RopeReader(const HfKeys& keys, Config& config) : keys_(keys), config_(config) {}

  /// Reads one rotary embedding. `inner`: its object in the file; null if the file has none.
  /// `theta`: the key of the base outside of the object. `head_dim`: elements of a head.
  RopeConfig read(const JsonKeys* inner, std::string_view theta, std::int64_t head_dim) const {
    RopeConfig rope;
    rope.style = config_.ropes.front().style;
    rope.theta = read_theta(inner, theta);
    const double fraction = read_fraction(inner);
    rope.dims = static_cast<std::int64_t>(fraction * static_cast<double>(head_dim));
    if (inner != nullptr) read_hf_rope_scaling(keys_, *inner, {head_dim, fraction}, rope, config_);
    return rope;
  }

 private:
  /// Reads the base. If a file has the old and the new spelling, they must agree.
  double read_theta(const JsonKeys* inner, std::string_view name) const {
    const auto theta = inner == nullptr ? std::nullopt : inner->number("rope_theta");
    if (!theta) return keys_.number(name).value_or(*keys_.family().find(name)->fallback);
    if (keys_.states(name) && keys_.number(name) != theta) {
      keys_.refuse(name, cat("the rotary parameters say ", *theta));
    }
    return *theta;
  }

  /// Returns the share of a head's elements that rotate.
  double read_fraction(const JsonKeys* inner) const {
    constexpr std::string_view kName = "partial_rotary_factor";
    const HfKey* key = keys_.family().find(kName);
    const std::string_view outer = keys_.spelled(kName);
    double fraction = key == nullptr ? 1 : key->fallback.value_or(1);
    const auto take = [&](const JsonKeys& members, std::string_view spelling) {
      const auto stated = members.number(spelling);
      if (!stated) return;
      fraction = *stated;
      if (key == nullptr && fraction != 1) {
        members.refuse(spelling, "only whole heads are rotated in this architecture");
      }
      if (!(fraction > 0 && fraction <= 1))
        members.refuse(spelling, "it must be above 0, at most 1");
    };
    take(keys_.members(), outer);
    if (inner != nullptr) take(*inner, kName);
    return fraction;
  }

  const HfKeys& keys_;
  Config& config_;
};

/// The file's object with rotary parameters.
struct RopeObject {
  std::string_view name;
  const Json* json = nullptr;  ///< null: the file has none

  bool is_nested() const {
    return json != nullptr && (json->find(kFull) != nullptr || json->find(kSliding) != nullptr);
  }
};

RopeObject find_object(const HfKeys& keys) {
  const JsonKeys& members = keys.members();
  const Json* old_object = members.get("rope_scaling");
  const Json* new_object = members.get("rope_parameters");
  if (old_object != nullptr && new_object != nullptr) {
    members.fail("both rope_scaling and rope_parameters are given");
  }
  const std::string_view name = old_object != nullptr ? "rope_scaling" : "rope_parameters";
  const Json* object = old_object != nullptr ? old_object : new_object;
  if (object == nullptr && keys.family().states_rope) members.missing(name);
  if (object != nullptr && object->as_object() == nullptr) {
    members.refuse(name, *object, "expected an object");
  }
  return {name, object};
}

/// Returns the rotated elements' head size in layers of a kind.
std::int64_t head_dim_of(const Config& config, const HfSlides& slides, bool sliding) {
  if (config.mla.kv_rank > 0) return config.mla.rope;
  for (std::size_t layer = 0; layer < config.sizes.size(); ++layer) {
    if (slides[layer] == sliding) return config.sizes[layer].head_dim;
  }
  return config.head_dim;
}

/// Reads the embedding of one kind of layer from a nested object.
RopeConfig read_nested(const HfKeys& keys, const RopeObject& object, std::string_view kind,
                       std::string_view theta, std::int64_t head_dim, Config& config) {
  const JsonKeys& members = keys.members();
  const std::string prefix = cat(members.prefix(), object.name, ".");
  const JsonKeys outer(*object.json, members.file(), prefix);
  const Json* json = outer.object(kind);
  const RopeReader reader(keys, config);
  if (json == nullptr) return reader.read(nullptr, theta, head_dim);
  const JsonKeys inner(*json, members.file(), cat(prefix, kind, "."));
  return reader.read(&inner, theta, head_dim);
}

void refuse_beside_kinds(const HfKeys& keys, const RopeObject& object) {
  for (const auto& [key, value] : *object.json->as_object()) {
    if (key == kFull || key == kSliding || value.is_null()) continue;
    keys.members().refuse(cat(object.name, ".", printable(key, 64)), value,
                          "expected only full_attention and sliding_attention");
  }
}

/// Reads two embeddings: [0] for full layers, [1] for layers with a window.
void read_by_kind(const HfKeys& keys, const RopeObject& object, const HfSlides& slides,
                  Config& config) {
  const std::int64_t full_dim = head_dim_of(config, slides, false);
  const std::int64_t sliding_dim = head_dim_of(config, slides, true);
  const bool own_theta = keys.reads("rope_local_base_freq");
  const std::string_view sliding_theta = own_theta ? "rope_local_base_freq" : "rope_theta";
  RopeConfig full;
  RopeConfig sliding;
  if (object.is_nested()) {
    refuse_beside_kinds(keys, object);
    full = read_nested(keys, object, kFull, "rope_theta", full_dim, config);
    sliding = read_nested(keys, object, kSliding, sliding_theta, sliding_dim, config);
  } else {
    const RopeReader reader(keys, config);
    std::optional<JsonKeys> inner;
    if (object.json != nullptr) {
      inner.emplace(*object.json, keys.members().file(),
                    cat(keys.members().prefix(), object.name, "."));
    }
    // A flat object scales full layers only.
    full = reader.read(inner ? &*inner : nullptr, "rope_theta", full_dim);
    sliding = full;
    sliding.scaling = {};
    if (own_theta) sliding = reader.read(nullptr, sliding_theta, sliding_dim);
  }
  config.ropes = {full, sliding};
  for (const bool slide : slides) config.rope_layer.push_back(slide ? 1 : 0);
}

void read_single(const HfKeys& keys, const RopeObject& object, Config& config) {
  const RopeReader reader(keys, config);
  const std::int64_t head_dim = head_dim_of(config, {}, false);
  if (object.json == nullptr) {
    config.ropes.front() = reader.read(nullptr, "rope_theta", head_dim);
    return;
  }
  const JsonKeys inner(*object.json, keys.members().file(),
                       cat(keys.members().prefix(), object.name, "."));
  config.ropes.front() = reader.read(&inner, "rope_theta", head_dim);
}

/// Reads which layers rotate: 1 in no_rope_layers stands for a layer that rotates.
std::vector<bool> rotating_layers(const HfKeys& keys, const Config& config) {
  std::vector<bool> rotating(to_size(config.layers), true);
  if (const Json::Array* list = keys.array("no_rope_layers")) {
    if (std::ssize(*list) != config.layers) {
      keys.members().fail(
          cat("no_rope_layers has ", list->size(), " entries for ", config.layers, " layers"));
    }
    for (std::int64_t layer = 0; layer < config.layers; ++layer) {
      const std::int64_t* entry = at(*list, layer).as_int();
      if (entry == nullptr || (*entry != 0 && *entry != 1)) {
        keys.members().refuse("an entry of no_rope_layers", at(*list, layer), "expected 0 or 1");
      }
      at(rotating, layer) = *entry == 1;
    }
  } else if (const auto interval = keys.integer("no_rope_layer_interval", 1, kLayersMax)) {
    for (std::int64_t layer = 0; layer < config.layers; ++layer) {
      at(rotating, layer) = (layer + 1) % *interval != 0;
    }
  }
  return rotating;
}

/// Marks layers that do not rotate. Without such a layer, `rope_layer` stays empty.
void read_layers_without(const HfKeys& keys, const HfSlides& slides, Config& config) {
  std::vector<bool> rotating = rotating_layers(keys, config);
  const Rotation rule = find_architecture(keys.family().architecture)->rotation;
  const bool has_windows = keys.has_value("sliding_window");
  for (std::size_t layer = 0; layer < rotating.size(); ++layer) {
    const bool slides_here = !slides.empty() && slides[layer];
    rotating[layer] = rotating[layer] && rotates(rule, slides_here, has_windows);
  }
  if (std::find(rotating.begin(), rotating.end(), false) == rotating.end()) return;
  for (const bool layer_rotates : rotating) config.rope_layer.push_back(layer_rotates ? 0 : -1);
}

}  // namespace

void read_hf_rope(const HfKeys& keys, const HfSlides& slides, Config& config) {
  if (keys.family().ropes == HfRopes::kNone) {
    config.rope_layer.assign(to_size(config.layers), -1);
    return;
  }
  const RopeObject object = find_object(keys);
  // Scalings read this key. Without a scaling, only its type is checked.
  keys.members().integer("original_max_position_embeddings", 1, kContextMax);
  if (keys.family().ropes == HfRopes::kByKind) {
    read_by_kind(keys, object, slides, config);
    return;
  }
  read_single(keys, object, config);
  read_layers_without(keys, slides, config);
}

}  // namespace ingot
