// PeftConfig: keys of adapter_config.json: applied, without effect on results, or refused.
#include "load/adapter/peft_config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace ingot {

namespace {

/// Keys that are read here or have no effect on an adapter's results.
constexpr std::array kAdapterKeys = std::to_array<std::string_view>({
    "alora_invocation_tokens",
    "alpha_pattern",
    "auto_mapping",
    "base_model_name_or_path",
    "bias",
    "corda_config",  // init_lora_weights says whether the base changed
    "ensure_weight_tying",
    "eva_config",
    "exclude_modules",
    "fan_in_fan_out",  // the layout of the base's weights in memory
    "inference_mode",
    "init_lora_weights",
    "layers_pattern",
    "layers_to_transform",
    "loftq_config",
    "lora_alpha",
    "lora_dropout",
    "lora_ga_config",
    "megatron_config",
    "megatron_core",
    "parent_library",
    "peft_type",
    "peft_version",
    "qalora_group_size",
    "r",
    "rank_pattern",
    "revision",
    "runtime_config",
    "target_modules",
    "target_parameters",
    "task_type",
    "use_rslora",
    "velora_config",  // only the backward pass
});

/// Keys with an effect that ingot does not apply.
constexpr std::array kRefusedKeys = std::to_array<std::string_view>({
    "arrow_config",
    "kasa_config",
    "layer_replication",
    "lora_bias",
    "modules_to_save",
    "monteclora_config",
    "trainable_token_indices",
    "use_bdlora",
    "use_dora",
    "use_qalora",
});

/// Beginnings of `init_lora_weights` after which training starts from another base model. PEFT
/// writes `true` when it converts such an adapter to one of the unchanged base.
constexpr std::array kChangesBase =
    std::to_array<std::string_view>({"pissa", "olora", "corda", "loftq", "lora_ga"});

/// Limits on ranks and alphas, far above real ones. kAdapterRankMax is smaller; it names a tensor.
constexpr std::int64_t kRankMax = 1'000'000;
constexpr double kAlphaMax = 1e6;
/// Limit on keys of a pattern that run in PCRE2, because each is compiled.
constexpr std::size_t kRegexKeysMax = 4096;
constexpr std::size_t kPatternKeysMax = 65'536;
/// Limit on target_parameters. Real files name one or two, or two for each layer.
constexpr std::size_t kParametersMax = 1024;

bool has_effect(const Json& value) {
  if (const bool* b = value.as_bool()) return *b;
  if (const auto* text = value.as_string()) return !text->empty();
  if (const auto* list = value.as_array()) return !list->empty();
  if (const auto* members = value.as_object()) return !members->empty();
  return !value.is_null();
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

void refuse_unknown(const JsonKeys& keys) {
  for (const auto& [key, value] : keys.members()) {
    if (is_one_of(kAdapterKeys, key) || !has_effect(value)) continue;
    const std::string name = printable(key);
    if (is_one_of(kRefusedKeys, key)) {
      keys.refuse(name, value, "ingot does not apply adapters with this key");
    }
    keys.refuse(name, value, "ingot does not know this key, which may change results");
  }
}

/// The value of the first key that matches the module; otherwise `usual`.
template <class T>
T pattern_value(const ModuleValues<T>& all, std::string_view module, T usual, MatchBudget& budget) {
  const auto index = all.keys.first_match(module, budget);
  return index ? all.values[*index] : usual;
}

/// Reads rank_pattern or alpha_pattern, whose values `read` converts.
template <class T, class Read>
ModuleValues<T> read_patterns(const JsonKeys& keys, const std::string& name, Read read) {
  ModuleValues<T> patterns{.keys = ModuleKeys(keys.file(), name)};
  const Json* object = keys.object(name);
  if (object == nullptr) return patterns;
  const JsonKeys members(*object, keys.file(), cat(name, "."));
  if (members.members().size() > kPatternKeysMax) {
    keys.fail(cat(name, " has ", members.members().size(), " keys, at most ", kPatternKeysMax));
  }
  for (const auto& [key, value] : members.members()) {
    patterns.values.push_back(read(members, key, value));
    patterns.keys.add(key);
    if (patterns.keys.regexes() <= kRegexKeysMax) continue;
    keys.fail(cat(name, " has more than ", kRegexKeysMax, " regular expressions"));
  }
  return patterns;
}

std::int64_t read_rank(const JsonKeys& keys, const std::string& key, const Json& value) {
  const std::int64_t* rank = value.as_int();
  if (rank == nullptr || *rank < 1 || *rank > kRankMax) {
    keys.refuse(printable(key), value, cat("expected a rank from 1 to ", kRankMax));
  }
  return *rank;
}

double read_alpha(const JsonKeys& keys, const std::string& key, const Json& value) {
  const auto alpha = value.number();
  if (!alpha || !(std::abs(*alpha) <= kAlphaMax)) {
    keys.refuse(printable(key), value,
                cat("expected a number of magnitude up to ", static_cast<std::int64_t>(kAlphaMax)));
  }
  return *alpha;
}

}  // namespace

ModuleNames::ModuleNames(const JsonKeys& keys, std::string_view key) {
  const Json* value = keys.get(key);
  if (value == nullptr) return;
  if (const std::string* text = value->as_string()) {
    regex_.emplace(*text, keys.file(), key);
    return;
  }
  if (value->as_array() == nullptr) keys.refuse(key, "expected a string or an array of strings");
  for (const Json& name : *value->as_array()) {
    if (name.as_string() == nullptr) keys.refuse(key, name, "expected a string");
    names_.insert(*name.as_string());
  }
}

bool ModuleNames::matches(std::string_view module, MatchBudget& budget) const {
  if (regex_) return regex_->matches_all(module, budget);
  return any_ending(module, [&](std::string_view end) { return has(end); });
}

PeftConfig::PeftConfig(const Json& root, std::string file, std::uint64_t steps_max)
    : file_(std::move(file)), budget_(steps_max) {
  if (root.as_object() == nullptr) {
    throw model_error(file_, "config", cat("it is ", root.kind(), ", expected an object"));
  }
  const JsonKeys keys(root, file_);
  read_method(keys);
  refuse_unknown(keys);
  read_sizes(keys);
  read_targets(keys);
  read_version(keys);
  read_layers(keys);
  read_invocation(keys);
  if (const std::string* name = keys.text("base_model_name_or_path")) base_model_ = *name;
  ties_weights_ = keys.boolean("ensure_weight_tying").value_or(false);
}

void PeftConfig::read_method(const JsonKeys& keys) {
  if (keys.required_text("peft_type") != "LORA") keys.refuse("peft_type", "expected 'LORA'");
  const std::string* bias = keys.text("bias");
  if (bias != nullptr && *bias != "none") {
    keys.refuse("bias", "ingot does not apply adapters with biases");
  }
  const Json* start = keys.get("init_lora_weights");
  const std::string* name = start == nullptr ? nullptr : start->as_string();
  if (start != nullptr && name == nullptr && start->as_bool() == nullptr) {
    keys.refuse("init_lora_weights", "expected a boolean or a string");
  }
  if (name == nullptr) return;
  for (const std::string_view method : kChangesBase) {
    if (!lower(*name).starts_with(method)) continue;
    keys.refuse("init_lora_weights",
                "such adapters need a changed base model; PEFT converts them when save_pretrained "
                "gets path_initial_model_for_weight_conversion");
  }
}

void PeftConfig::read_targets(const JsonKeys& keys) {
  const Json* targets = keys.get("target_modules");
  const std::string* text = targets == nullptr ? nullptr : targets->as_string();
  all_linear_ = text != nullptr && lower(*text) == "all-linear";
  if (!all_linear_) targets_ = ModuleNames(keys, "target_modules");
  excluded_ = ModuleNames(keys, "exclude_modules");
  const ModuleNames parameters(keys, "target_parameters");
  if (parameters.is_regex()) keys.refuse("target_parameters", "expected an array of strings");
  if (parameters.names().size() > kParametersMax) {
    keys.fail(cat("target_parameters has ", parameters.names().size(), " names, at most ",
                  kParametersMax));
  }
  for (const std::string& name : parameters.names()) {
    const std::size_t last = name.rfind('.') + 1;
    parameters_[name.substr(0, last)].insert(name.substr(last));
  }
  if (targets == nullptr && parameters_.empty()) keys.missing("target_modules");
}

void PeftConfig::read_layers(const JsonKeys& keys) {
  const Json* layers = keys.get("layers_to_transform");
  const Json* pattern = keys.get("layers_pattern");
  if (layers == nullptr || (layers->as_array() != nullptr && layers->as_array()->empty())) return;
  if (targets_.is_regex() || all_linear_) {
    keys.refuse("layers_to_transform", "PEFT does not accept it with one string as target");
  }
  const auto add = [&](const Json& layer) {
    if (layer.as_int() == nullptr) keys.refuse("layers_to_transform", layer, "expected integers");
    layers_->insert(*layer.as_int());
  };
  layers_.emplace();
  if (layers->as_array() == nullptr) add(*layers);
  if (layers->as_array() != nullptr) {
    for (const Json& layer : *layers->as_array()) add(layer);
  }
  std::vector<std::string> names;
  if (pattern != nullptr && pattern->as_string() != nullptr) names = {*pattern->as_string()};
  if (pattern != nullptr && pattern->as_string() == nullptr) {
    for (const Json& name : keys.required_array("layers_pattern")) {
      if (name.as_string() == nullptr) keys.refuse("layers_pattern", name, "expected strings");
      names.push_back(*name.as_string());
    }
  }
  std::erase(names, "");
  if (names.size() > kRegexKeysMax) {
    keys.fail(cat("layers_pattern has ", names.size(), " entries, at most ", kRegexKeysMax));
  }
  if (names.empty()) {
    layer_patterns_.emplace_back(
        cat(takes_last_number_ ? ".*" : ".*?", "\\.[^.]*\\.(?P<idx>\\d+)\\."), file_,
        "layers_pattern");
  }
  for (const std::string& name : names) {
    layer_patterns_.emplace_back(cat("(?:^|.*?\\.)(?:", name, ")\\.(?P<idx>\\d+)\\."), file_,
                                 "layers_pattern");
  }
}

void PeftConfig::read_sizes(const JsonKeys& keys) {
  if (const Json* rank = keys.get("r")) rank_ = read_rank(keys, "r", *rank);
  if (const Json* alpha = keys.get("lora_alpha")) alpha_ = read_alpha(keys, "lora_alpha", *alpha);
  rank_stabilised_ = keys.boolean("use_rslora").value_or(false);
  ranks_ = read_patterns<std::int64_t>(keys, "rank_pattern", read_rank);
  alphas_ = read_patterns<double>(keys, "alpha_pattern", read_alpha);
}

void PeftConfig::read_invocation(const JsonKeys& keys) {
  constexpr std::size_t kTokensMax = 4096;
  const Json::Array* tokens = keys.array("alora_invocation_tokens");
  if (tokens == nullptr) return;
  if (tokens->empty() || tokens->size() > kTokensMax) {
    keys.fail(
        cat("alora_invocation_tokens has ", tokens->size(), " tokens, expected 1 to ", kTokensMax));
  }
  for (const Json& token : *tokens) {
    const std::int64_t* id = token.as_int();
    if (id == nullptr || *id < 0 || *id > INT32_MAX) {
      keys.refuse("alora_invocation_tokens", token, "expected token ids");
    }
    invocation_tokens_.push_back(static_cast<std::int32_t>(*id));
  }
}

void PeftConfig::read_version(const JsonKeys& keys) {
  constexpr int kSwapsSince = 19;        // 0.19.0: ParamWrapper._did_swap_in_out_features
  constexpr int kFirstNumberSince = 20;  // 0.20.0: check_target_module_exists
  const std::string* text = keys.text("peft_version");
  if (text == nullptr) return;
  int major = 0, minor = 0;
  const char* end = text->data() + text->size();
  const auto [dot, error] = std::from_chars(text->data(), end, major);
  if (error != std::errc{} || dot == end || *dot != '.') return;
  std::from_chars(dot + 1, end, minor);
  is_old_ = major == 0 && minor < kSwapsSince;
  takes_last_number_ = major == 0 && minor < kFirstNumberSince;
}

bool PeftConfig::is_chosen_layer(std::string_view module) const {
  for (const ModuleRegex& pattern : layer_patterns_) {
    if (const auto layer = pattern.captured_index(module, budget_))
      return layers_->contains(*layer);
  }
  return false;
}

bool PeftConfig::targets(std::string_view module) const {
  const auto known = targeted_.find(module);
  if (known != targeted_.end()) return known->second;
  return targeted_.emplace(module, matches_targets(module)).first->second;
}

bool PeftConfig::matches_targets(std::string_view module) const {
  if (!excluded_.empty() && excluded_.matches(module, budget_)) return false;
  if (all_linear_ || targets_.has(module)) return true;
  if (!targets_.matches(module, budget_)) return false;
  return !layers_ || is_chosen_layer(module);
}

std::vector<std::string> PeftConfig::parameters_of(std::string_view module) const {
  // A name without a module, such as "down_proj", fits parameters of experts only: elsewhere, a
  // module has this name, and its parameter is "weight".
  const bool holds_experts = module.ends_with("experts");
  std::set<std::string> names;
  const auto add = [&](std::string_view owner) {
    const auto named = parameters_.find(owner);
    if (named == parameters_.end()) return false;
    for (const std::string& name : named->second) {
      if (holds_experts != (name == "weight")) names.insert(name);
    }
    return false;
  };
  add("");
  any_ending(module, [&](std::string_view end) { return add(cat(end, ".")); });
  // PEFT wraps parameters in the order in which the module declares them.
  std::vector<std::string> found(names.rbegin(), names.rend());
  if (found.size() > 1 && found != std::vector<std::string>{"gate_up_proj", "down_proj"}) {
    throw model_error(file_, "config",
                      cat("target_parameters names ", found.size(), " parameters of module ",
                          printable(module), ", whose order is unknown"));
  }
  return found;
}

bool PeftConfig::targets_parameter(std::string_view name) const {
  if (parameters_.empty()) return false;
  if (!parameters_of(name).empty()) return true;  // its "weight"
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return false;
  const std::vector<std::string> all = parameters_of(name.substr(0, dot));
  return std::find(all.begin(), all.end(), name.substr(dot + 1)) != all.end();
}

std::int64_t PeftConfig::rank(std::string_view module) const {
  return pattern_value(ranks_, module, rank_, budget_);
}

double PeftConfig::alpha(std::string_view module) const {
  return pattern_value(alphas_, module, alpha_, budget_);
}

double PeftConfig::scale(std::int64_t rank, double alpha) const {
  const auto r = static_cast<double>(rank);
  return alpha / (rank_stabilised_ ? std::sqrt(r) : r);
}

}  // namespace ingot
