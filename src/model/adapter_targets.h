// AdapterTargets: which rows of a model's weights an adapter's modules change.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "load/config.h"
#include "model/names.h"

namespace ingot {

struct BoundModel;
struct BoundWeight;
struct ModelOptions;

/// In which order a weight has the rows of a module.
enum class RowOrder : std::uint8_t {
  kSame,
  kToAdjacent,   ///< in each head, row 2i + j of the weight is row i of the module's half j
  kToHalves,     ///< in each head, row i of the weight's half j is row 2i + j of the module
  kAlternating,  ///< row i of the weight's half j is row 2i + j of the module
};

/// Rows of a Weight that a module changes.
struct AdapterTarget {
  std::int32_t number = -1;    ///< Weight::number; the first expert's in a stack; -1: not loaded
  std::int64_t first_row = 0;  ///< row of the Weight
  std::int64_t rows = 0;
  std::int64_t cols = 0;          ///< K, the Weight's inputs
  std::int64_t module_first = 0;  ///< the module's row for `first_row`
  std::int64_t module_rows = 0;   ///< outputs of the module
  std::int64_t experts = 0;  ///< number of Weights with consecutive numbers; 0: no expert's Weight
  std::int64_t heads = 0;    ///< number of heads, with kToAdjacent and kToHalves
  RowOrder order = RowOrder::kSame;
  bool embedding = false;  ///< whether the module is the token embedding, [V, H]

  /// Returns the module's row from which row `first_row + row` of the Weight is made.
  std::int64_t module_row(std::int64_t row) const;
};

/// The targets of a module. A module with the number of an expert changes only this expert.
struct AdapterTargetList {
  const std::vector<AdapterTarget>* targets = nullptr;
  std::int64_t expert = -1;
  bool turned = false;  ///< whether Hugging Face files store the matrices with inputs as rows
};

/// Finds a model's weights by the names of modules, in the namings of PEFT and of GGUF. Weights
/// have the rows of the model's file, which may be of the other naming.
class AdapterTargets {
 public:
  AdapterTargets() = default;
  /// Lists what adapters may change of a checkpoint in the naming `stored`. `options`: those of
  /// load_model, which numbers the weights in the order of `all_weights`.
  AdapterTargets(const BoundModel& bound, Naming stored, const ModelOptions& options);

  const std::string& architecture() const { return architecture_; }
  std::int64_t vocab() const { return vocab_; }
  /// Returns the number of weights with a number.
  std::int32_t weights() const { return weights_; }
  /// Returns what a module changes; nothing if adapters cannot change a module of this name.
  std::optional<AdapterTargetList> find(Naming naming, std::string_view module) const;
  /// Says why `find` returns nothing for a module.
  std::string why_not(Naming naming, std::string_view module) const;
  /// Returns the Hugging Face names of the layers' matrices outside of experts and routers, with
  /// the prefix with which `module`, a name that `find` knows, begins.
  std::vector<std::string> layer_modules(std::string_view module) const;

 private:
  friend class AdapterTargetLister;

  struct Entry {
    std::vector<AdapterTarget> targets;
    bool required = false;  ///< whether transformers has a module of this name in the layer
    bool turned = false;
  };
  /// By name, with "%" in place of the layer and of the expert, and without a prefix.
  using Entries = std::map<std::string, Entry, std::less<>>;

  std::string architecture_;
  std::int64_t vocab_ = 0;
  std::int32_t weights_ = 0;
  bool has_latents_ = false;
  Entries ends_[2];                 ///< by Naming: modules outside of layers
  std::vector<Entries> layers_[2];  ///< by Naming and layer
};

}  // namespace ingot
