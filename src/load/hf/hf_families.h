// The table of Hugging Face model types: which keys of config.json each family has, how the family
// spells them, and their defaults.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ingot {

/// A key that a family reads. Code asks for `name`; files of the family have `spelling`.
struct HfKey {
  std::string_view name;
  std::optional<double> fallback{};  ///< value where a file lacks the key; booleans are 0 and 1
  std::string_view spelling{};       ///< empty: `name`
  /// Another spelling of `name` in the same family. Where a file has both, `spelling` applies.
  std::string_view also{};

  std::string_view key() const { return spelling.empty() ? name : spelling; }
};

/// Which layers have a sliding window.
enum class HfWindows {
  kNone,     ///< a window is refused
  kAll,      ///< all layers, if the file states a window
  kLate,     ///< with use_sliding_window: layers from max_window_layers
  kListed,   ///< with use_sliding_window: only layers that layer_types lists
  kPattern,  ///< by layer_types, or else every layer except each n-th (ArchitectureTraits::windows)
};

/// Which rotary embeddings a model has.
enum class HfRopes {
  kNone,    ///< none: positions are learned
  kOne,     ///< one for all layers
  kByKind,  ///< one for full layers and one for layers with a window
};

/// The head of a model for sequence classification, after pooling of the first token.
enum class HfClassifier {
  kNone,    ///< sequence classification is refused
  kPooler,  ///< the pooler (tanh), then `classifier`
  kHead,    ///< `classifier.dense` (tanh), then `classifier.out_proj`
};

/// How config.json of one model_type is read. Each family is one row.
struct HfFamily {
  std::string_view model_type;
  std::string_view architecture;  ///< a row of the table of architectures
  /// The row holds only for files in which this member is present, not null and not false.
  std::string_view only_with{};
  HfWindows windows = HfWindows::kNone;
  HfRopes ropes = HfRopes::kOne;
  HfClassifier classifier = HfClassifier::kNone;
  /// The file must state rotary parameters, because the default of transformers is a whole object.
  bool states_rope = false;
  bool last_layer_is_full = false;  ///< the last layer has no window, even if listed otherwise
  bool norm_plus_one = false;       ///< norms multiply by 1 + weight
  bool scales_embeddings = false;   ///< embeddings are multiplied by sqrt(hidden_size)
  bool gelu_is_tanh = false;        ///< `gelu` stands for gelu_pytorch_tanh (Gemma)
  bool sigmoid_router = false;      ///< scoring_func is sigmoid; else softmax
  bool renormalise = true;       ///< whether chosen experts are renormalised without a key for it
  std::array<HfKey, 24> keys{};  ///< those beside `hf_common_keys`, or in place of them

  /// Returns the family's or the common key with this name; null if the family has no such key.
  const HfKey* find(std::string_view name) const;
  /// Returns whether the family reads the member `key` of config.json.
  bool reads(std::string_view key) const;
};

/// Returns the keys that all families read.
std::span<const HfKey> hf_common_keys();
/// Returns all rows. Rows of one model_type stand together, the row without `only_with` last.
std::span<const HfFamily> hf_families();
/// Returns the model types of all rows, comma-separated, for messages.
std::string hf_model_types();

/// Returns whether `model_type` has an inner object text_config with a language model that the
/// table knows. Other members describe parts for images or sound, which are not used.
bool is_hf_multimodal(std::string_view model_type);
/// Returns whether models of this type keep a recurrent state, which is not supported yet.
bool is_hf_recurrent(std::string_view model_type);

}  // namespace ingot
