// PeftConfig: reads adapter_config.json, and refuses adapters that do more than low-rank updates.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "load/adapter/adapter_file.h"
#include "load/adapter/match_budget.h"
#include "load/adapter/module_keys.h"
#include "load/adapter/module_regex.h"
#include "load/json.h"
#include "load/json_keys.h"

namespace ingot {

/// Modules as PEFT's configuration names them: a list of names or ends of names, or one regular
/// expression.
class ModuleNames {
 public:
  ModuleNames() = default;
  /// Reads the member `key`; without it, no module is named.
  ///
  /// Errors: model_error if it is neither a string nor an array of strings, or for an expression
  /// that ModuleRegex refuses.
  ModuleNames(const JsonKeys& keys, std::string_view key);

  bool is_regex() const { return regex_.has_value(); }
  bool empty() const { return !regex_ && names_.empty(); }
  /// Returns whether a list has the whole name.
  bool has(std::string_view module) const { return names_.contains(module); }
  /// Returns whether the expression matches the name, or a list has it or an end of it that follows
  /// a dot.
  ///
  /// Errors: those of ModuleRegex::matches_all.
  bool matches(std::string_view module, MatchBudget& budget) const;
  const std::set<std::string, std::less<>>& names() const { return names_; }

 private:
  std::set<std::string, std::less<>> names_;
  std::optional<ModuleRegex> regex_;
};

/// Values of modules by their keys: rank_pattern or alpha_pattern.
template <class T>
struct ModuleValues {
  ModuleKeys keys;
  std::vector<T> values{};  ///< by index of the key
};

/// A configuration of PEFT's method LoRA. Not thread-safe: questions about modules count steps, and
/// throw model_error that names the key when the configuration's steps are used up.
///
/// Source: peft 0.21, tuners/lora/config.py and tuners/tuners_utils.py
/// (check_target_module_exists).
class PeftConfig final : public AdapterScope {
 public:
  /// Reads the object `root` of the file `file`. All questions about modules may take `steps_max`
  /// steps together, and those of `allow_pairs`.
  ///
  /// Errors: model_error that names the key, for a wrong value and for what ingot does not apply.
  PeftConfig(const Json& root, std::string file, std::uint64_t steps_max = kConfigStepsMax);

  const std::string& file() const { return file_; }
  const std::string& base_model() const { return base_model_; }
  const std::vector<std::int32_t>& invocation_tokens() const { return invocation_tokens_; }
  /// Returns whether PEFT older than 0.19, or of an unknown version, wrote the configuration.
  bool is_old() const { return is_old_; }
  /// Returns whether adapters of a tied embedding and head are tied too.
  bool ties_weights() const { return ties_weights_; }

  bool targets(std::string_view module) const override;
  bool targets_parameter(std::string_view name) const override;
  bool is_all_linear() const override { return all_linear_; }
  /// Returns the parameters of a module that the configuration names, in the order in which PEFT
  /// wraps them.
  ///
  /// Errors: model_error for several parameters whose order is unknown.
  std::vector<std::string> parameters_of(std::string_view module) const;
  /// Returns the rank and alpha of the pair of a module or parameter. Each question costs steps.
  std::int64_t rank(std::string_view module) const;
  double alpha(std::string_view module) const;
  /// Returns the factor of a pair with this rank and alpha.
  double scale(std::int64_t rank, double alpha) const;
  /// Allows the steps that questions about this number of pairs take.
  void allow_pairs(std::size_t pairs) { budget_.allow(pairs * kPairStepsMax); }
  /// Returns the steps that questions about modules have taken.
  std::uint64_t steps() const { return budget_.steps(); }

 private:
  void read_method(const JsonKeys& keys);
  void read_targets(const JsonKeys& keys);
  void read_layers(const JsonKeys& keys);
  void read_sizes(const JsonKeys& keys);
  void read_invocation(const JsonKeys& keys);
  void read_version(const JsonKeys& keys);
  bool matches_targets(std::string_view module) const;
  bool is_chosen_layer(std::string_view module) const;

  std::string file_;
  std::string base_model_;
  std::vector<std::int32_t> invocation_tokens_;
  bool is_old_ = true;
  /// Whether the layer of a module is the last number of its name, as in PEFT before 0.20: among
  /// modules of experts, the expert.
  bool takes_last_number_ = true;
  bool ties_weights_ = false;
  bool all_linear_ = false;
  ModuleNames targets_;
  ModuleNames excluded_;
  /// Last parts of target_parameters by what stands before, with its dot.
  std::map<std::string, std::set<std::string>, std::less<>> parameters_;
  std::optional<std::set<std::int64_t>> layers_;  ///< absent: all layers
  std::vector<ModuleRegex> layer_patterns_;
  std::int64_t rank_ = 8;
  double alpha_ = 8;
  bool rank_stabilised_ = false;
  ModuleValues<std::int64_t> ranks_;
  ModuleValues<double> alphas_;
  mutable MatchBudget budget_;
  /// Answers of `targets`: callers plan an adapter several times, which costs steps only once.
  mutable std::map<std::string, bool, std::less<>> targeted_;
};

/// Limits on adapter_config.json. Real files have 1 KB; with a rank for each module, 100 KB.
inline constexpr JsonLimits kAdapterConfigLimits = {
    .bytes_max = 16 << 20, .depth_max = 16, .nodes_max = 500'000, .string_bytes_max = 65'536};

}  // namespace ingot
