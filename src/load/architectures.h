// ArchitectureTraits: what all checkpoints of an architecture have in common, as one table row.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "load/config.h"

namespace ingot {

/// Which layers of a model differ from the others, if a file does not list them.
///
/// Layer i is full (no window) if (i + 1) % period == 0, or with `full_first` if i % period == 0.
/// A period of 0 says nothing about windows.
struct LayerPattern {
  std::int64_t period = 0;
  bool full_first = false;

  bool is_full(std::int64_t layer) const { return (full_first ? layer : layer + 1) % period == 0; }
};

/// Which layers rotate queries and keys, if a file does not say.
enum class Rotation {
  kAll,            ///< all layers
  kWindowed,       ///< layers with a window (Cohere2)
  kWindowedIfAny,  ///< layers with a window; all layers, if the model has no windows (EXAONE 4)
  kNone,           ///< no layer (BERT)
};

/// Returns whether a layer rotates. `windowed`: the layer has a window. `has_windows`: the file
/// states a window for the model.
bool rotates(Rotation rule, bool windowed, bool has_windows);

/// Facts about an architecture that no file states. Loaders copy them to a Config by `apply_traits`
/// and then read the file's own values.
struct ArchitectureTraits {
  std::string_view name;  ///< in GGUF's spelling
  RopeStyle gguf_style = RopeStyle::kHalfSplit;
  RopeStyle hf_style = RopeStyle::kHalfSplit;
  Normalisation norm = Normalisation::kRms;
  Activation activation = Activation::kSilu;
  bool gated = true;
  bool parallel_residual = false;
  bool causal = true;
  bool qk_norm_after_rope = false;
  bool v_norm = false;
  std::optional<double> attention_scale{};  ///< factor of scores; absent: by the head's size
  bool experts = false;                     ///< whether models may be a mixture of experts
  bool sigmoid_router = false;
  LayerPattern windows{};
  /// The last of each `nope_period` layers does not rotate (SmolLM3); 0: all rotate.
  std::int64_t nope_period = 0;
  Rotation rotation = Rotation::kAll;
  /// Layers of the size whose grouped value heads get more bits in Q4_K_M (70B); 0: no such size.
  std::int64_t small_values_at = 0;
};

/// Returns the architecture with this name in GGUF's spelling; null if there is none.
const ArchitectureTraits* find_architecture(std::string_view name);
/// Returns the names of all architectures, comma-separated, for messages.
std::string architecture_names();

/// Copies the traits' values to the Config's fields. `naming` must be set: it decides the style of
/// the first rotary embedding.
void apply_traits(const ArchitectureTraits& traits, Config& config);

/// Fills `rope_layer` from `layers`, `window` and `ropes`, which must be set: layers with a window
/// have the second rotary embedding if there are two. `rule`: that of the traits, or another one
/// that the file states.
void set_rope_layers(const ArchitectureTraits& traits, Rotation rule, Config& config);

}  // namespace ingot
