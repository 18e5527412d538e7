// Reads the JSON files of a sentence-transformers folder.
#include "load/hf/hf_embedder.h"

#include <array>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "load/json_keys.h"

namespace ingot {

namespace {

/// Limit on the modules of a folder, far above real folders.
constexpr std::size_t kModulesMax = 16;
/// Limit on the bytes of a module's folder name, so that names of its tensors stay short.
constexpr std::size_t kModulePathMax = 64;
constexpr std::int64_t kMaxTokensMax = kContextMax;

/// The keys of a pooling module, one for each mode, and the name of each mode.
constexpr std::array kPoolingModes = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"pooling_mode_cls_token", "cls"},
    {"pooling_mode_mean_tokens", "mean"},
    {"pooling_mode_max_tokens", "max"},
    {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens"},
    {"pooling_mode_weightedmean_tokens", "weightedmean"},
    {"pooling_mode_lasttoken", "lasttoken"},
});

void expect_object_in(const Json& root, const std::string& file) {
  if (root.as_object() != nullptr) return;
  throw model_error(file, "config", cat("it holds ", root.kind(), ", expected an object"));
}

/// Returns the class name of a module's type, such as "Pooling"; empty for code of other projects.
std::string_view module_class(std::string_view type) {
  if (!type.starts_with("sentence_transformers.")) return {};
  return type.substr(type.rfind('.') + 1);
}

/// Returns a module's folder, which must be a plain name.
std::string module_folder(const JsonKeys& module) {
  const std::string& path = module.required_text("path");
  const bool plain = !path.empty() && path.size() <= kModulePathMax && path != "." &&
                     path != ".." && path.find_first_of(std::string("/\\\0", 3)) == path.npos;
  if (!plain || printable(path) != path) {
    module.refuse("path", "expected the name of a folder");
  }
  return path;
}

void add_module(const JsonKeys& module, std::string_view type, std::size_t index,
                HfModules& modules) {
  const std::string_view name = module_class(type);
  const bool in_order = name == "Transformer" ? index == 0 : index > 0 && !modules.normalise;
  if (!in_order) module.refuse("type", "a module of this type is not supported in this place");
  if (name == "Transformer") {
    if (!module.required_text("path").empty())
      module.refuse("path", "supported is the folder itself");
  } else if (name == "Pooling") {
    if (!modules.pooling.empty()) module.refuse("type", "there is another module of this type");
    modules.pooling = module_folder(module);
  } else if (name == "LogitScore" && index == 1) {
    modules.scores = module_folder(module);
  } else if (modules.pooling.empty()) {
    module.refuse("type", "supported is Pooling or LogitScore after the Transformer");
  } else if (name == "Dense") {
    modules.dense.push_back(module_folder(module));
  } else if (name == "Normalize") {
    modules.normalise = true;
  } else {
    module.refuse("type", "supported are Transformer, Pooling, Dense and Normalize");
  }
}

/// Reads the mode that newer files name, or the flags of older files.
std::string_view pooling_mode(const JsonKeys& keys) {
  if (const std::string* mode = keys.text("pooling_mode")) return *mode;
  std::string_view found;
  for (const auto& [key, mode] : kPoolingModes) {
    // The mean is sentence-transformers' default.
    if (!keys.boolean(key).value_or(mode == "mean")) continue;
    if (!found.empty())
      keys.fail(cat("pooling modes ", found, " and ", mode, " together are not supported"));
    found = mode;
  }
  if (found.empty()) keys.fail("no pooling mode is true");
  return found;
}

}  // namespace

HfModules read_hf_modules(const Json& root, const std::string& file) {
  const Json::Array* list = root.as_array();
  if (list == nullptr) {
    throw model_error(file, "config", cat("it holds ", root.kind(), ", expected an array"));
  }
  HfModules modules;
  std::size_t index = 0;
  for (const Json& entry : *list) {
    expect_object_in(entry, file);
    const JsonKeys module(entry, file);
    if (index == kModulesMax) module.fail(cat("more than ", kModulesMax, " modules"));
    add_module(module, module.required_text("type"), index, modules);
    ++index;
  }
  if (modules.pooling.empty() && modules.scores.empty()) {
    throw model_error(file, "config", "there is no module Pooling");
  }
  return modules;
}

void read_hf_pooling(const Json& root, const std::string& file, Config& config) {
  expect_object_in(root, file);
  const JsonKeys keys(root, file);
  const std::string_view mode = pooling_mode(keys);
  if (mode == "mean") {
    config.pooling = PoolingKind::kMean;
  } else if (mode == "cls") {
    config.pooling = PoolingKind::kCls;
  } else if (mode == "lasttoken") {
    config.pooling = PoolingKind::kLast;
  } else {
    keys.fail(cat("pooling mode ", printable(mode, 64),
                  " is not supported; supported are mean, cls and lasttoken"));
  }
  const auto width = keys.integer("word_embedding_dimension", 1, kHiddenMax);
  if (width && *width != config.hidden) {
    keys.refuse("word_embedding_dimension", cat("the model's hidden size is ", config.hidden));
  }
  if (!keys.boolean("include_prompt").value_or(true)) {
    keys.refuse("include_prompt", "supported is true");
  }
}

void read_hf_logit_score(const Json& root, const std::string& file, Config& config) {
  expect_object_in(root, file);
  const JsonKeys keys(root, file);
  if (!config.causal) keys.fail("a module LogitScore needs a model that generates text");
  config.label_tokens.clear();
  const std::int64_t last = config.vocab - 1;
  config.label_tokens.push_back(
      static_cast<std::int32_t>(keys.required_integer("true_token_id", 0, last)));
  if (const auto no = keys.integer("false_token_id", 0, last)) {
    config.label_tokens.push_back(static_cast<std::int32_t>(*no));
    config.yes_or_no = true;
  }
  config.labels = std::ssize(config.label_tokens);
  config.pooling = PoolingKind::kLast;
}

void read_hf_dense(const Json& root, const std::string& file, const std::string& folder,
                   Config& config) {
  expect_object_in(root, file);
  const JsonKeys keys(root, file);
  DenseLayer layer;
  layer.inputs = keys.required_integer("in_features", 1, kHiddenMax);
  layer.outputs = keys.required_integer("out_features", 1, kHiddenMax);
  layer.weight = cat(folder, "/linear.weight");
  if (keys.boolean("bias").value_or(true)) layer.bias = cat(folder, "/linear.bias");
  const std::string& activation = keys.required_text("activation_function");
  layer.tanh = activation == "torch.nn.modules.activation.Tanh";
  if (!layer.tanh && activation != "torch.nn.modules.linear.Identity") {
    keys.refuse("activation_function", "supported are Identity and Tanh of torch.nn.modules");
  }
  config.dense.push_back(std::move(layer));
}

void read_hf_prompts(const Json& root, const std::string& file, EmbedderSettings& settings) {
  expect_object_in(root, file);
  const JsonKeys keys(root, file);
  const std::string* type = keys.text("model_type");
  if (type != nullptr && *type != "SentenceTransformer" && *type != "CrossEncoder") {
    keys.refuse("model_type", "supported are SentenceTransformer and CrossEncoder");
  }
  if (const Json* prompts = keys.object("prompts")) {
    const JsonKeys inner(*prompts, file, "prompts.");
    for (const auto& [name, value] : inner.members()) {
      const std::string* text = value.as_string();
      if (text == nullptr) inner.refuse(printable(name, 64), value, "expected a string");
      settings.prompts.push_back({name, *text});
    }
  }
  const std::string* chosen = keys.text("default_prompt_name");
  if (chosen == nullptr || chosen->empty()) return;
  for (const EmbedderPrompt& prompt : settings.prompts) {
    if (prompt.name == *chosen) settings.default_prompt = *chosen;
  }
  if (settings.default_prompt.empty()) {
    keys.refuse("default_prompt_name", "expected the name of a prompt");
  }
}

void read_hf_text_settings(const Json& root, const std::string& file, EmbedderSettings& settings) {
  expect_object_in(root, file);
  const JsonKeys keys(root, file);
  settings.max_tokens = keys.integer("max_seq_length", 1, kMaxTokensMax).value_or(0);
  settings.lower_case = keys.boolean("do_lower_case").value_or(false);
}

void read_hf_scores(const Json& root, const std::string& file, EmbedderSettings& settings) {
  const JsonKeys keys(root, file);
  const std::string* name = keys.text("sbert_ce_default_activation_function");
  if (const Json* inner = keys.object("sentence_transformers")) {
    const std::string* stated =
        JsonKeys(*inner, file, "sentence_transformers.").text("activation_fn");
    if (stated != nullptr) name = stated;
  }
  if (name == nullptr) return;
  settings.sigmoid_scores = *name == "torch.nn.modules.activation.Sigmoid";
  if (!settings.sigmoid_scores && *name != "torch.nn.modules.linear.Identity") {
    keys.fail(cat("the activation of scores is ", printable(*name, 64),
                  ", supported are Sigmoid and Identity of torch.nn.modules"));
  }
}

}  // namespace ingot
