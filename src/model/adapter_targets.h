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
  bool unused = false;     ///< whether no computation reads the module's outputs

  /// Returns the module's row from which row `first_row + row` of the Weight is made.
  std::int64_t module_row(std::int64_t row) const;
};

/// The targets of a module. A module with the number of an expert changes only this expert.
struct AdapterTargetList {
  const std::vector<AdapterTarget>* targets = nullptr;
  std::int64_t expert = -1;
  bool turned = false;  ///< whether Hugging Face files store the matrices with inputs as rows
};

/// A module under the name that it has in files of a naming.
struct AdapterModule {
  std::string name;
  AdapterTargetList list;
};

/// A module of transformers that PEFT can give a pair.
struct ScopeModule {
  TensorRole role{};
  std::vector<std::string> names;  ///< in versions of transformers; the shortest is usual
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
  /// Returns the modules of files of a naming, each once: a matrix that such files have fused is
  /// one module, and matrices that they have apart are several. Modules may share rows where a tied
  /// head, or keys as values, do. `prefix`: what Hugging Face names of layers begin with.
  std::vector<AdapterModule> modules(Naming naming, std::string_view prefix = kModelPrefix) const;
  /// Says why `find` returns nothing for a module.
  std::string why_not(Naming naming, std::string_view module) const;
  /// Returns the prefix of a layer's module in Hugging Face's naming; nothing for other modules.
  std::optional<std::string_view> prefix_of(std::string_view module) const;
  /// Returns the modules of a transformers model whose layers' names begin with `prefix`. It lists
  /// experts one by one and as stacked parameters, though a version has only one of these. A model
  /// whose names have no prefix has no head.
  std::vector<ScopeModule> scope_modules(std::string_view prefix) const;

 private:
  friend class AdapterTargetLister;

  struct Entry {
    std::vector<AdapterTarget> targets;
    /// What transformers has under this name; nothing if it has no module or parameter there.
    std::optional<TensorRole> role{};
    bool turned = false;
    bool usual = false;   ///< whether files of the naming have a module of this name
    bool rooted = false;  ///< whether no prefix precedes the name
  };
  /// By name, with "%" in place of the layer and of the expert, and without a prefix.
  using Entries = std::map<std::string, Entry, std::less<>>;

  static void add_scope_modules(const Entries& entries, std::string_view prefix, std::int64_t layer,
                                std::vector<ScopeModule>& all);

  std::string architecture_;
  std::int64_t vocab_ = 0;
  std::int32_t weights_ = 0;
  bool has_latents_ = false;
  Entries ends_[2];                 ///< by Naming: modules outside of layers
  std::vector<Entries> layers_[2];  ///< by Naming and layer
};

}  // namespace ingot
