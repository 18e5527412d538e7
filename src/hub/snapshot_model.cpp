// Chooses a model's files in a hub repository, for downloading and for opening.
#include "hub/snapshot_model.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "hub/gguf_models.h"

namespace ingot {

namespace {

constexpr std::string_view kSingleFile = "model.safetensors";
constexpr std::string_view kIndexFile = "model.safetensors.index.json";
constexpr std::string_view kConfigFile = "config.json";

/// Files of a model other than weights: configuration, all kinds of tokenizers, chat templates.
constexpr std::array<std::string_view, 14> kCompanions{
    kConfigFile,    "generation_config.json",  "tokenizer.json",  "tokenizer_config.json",
    "vocab.json",   "special_tokens_map.json", "tokenizer.model", "added_tokens.json",
    "merges.txt",   "chat_template.jinja",     "vocab.txt",       "chat_template.json",
    "spiece.model", "sentencepiece.bpe.model"};

/// Files of a sentence-transformers folder, beside those of its modules.
constexpr std::string_view kModulesFile = "modules.json";
constexpr std::array<std::string_view, 9> kEmbedderFiles{kModulesFile,
                                                         "config_sentence_transformers.json",
                                                         "sentence_bert_config.json",
                                                         "sentence_roberta_config.json",
                                                         "sentence_distilbert_config.json",
                                                         "sentence_camembert_config.json",
                                                         "sentence_albert_config.json",
                                                         "sentence_xlm-roberta_config.json",
                                                         "sentence_xlnet_config.json"};

using Paths = std::span<const std::string>;

bool holds(Paths paths, std::string_view path) {
  return std::binary_search(paths.begin(), paths.end(), path);
}

/// Whether a file is a chat template beside the default one.
bool is_named_template(std::string_view path) {
  constexpr std::string_view kFolder = "additional_chat_templates/";
  return path.starts_with(kFolder) && path.ends_with(".jinja") &&
         path.find('/', kFolder.size()) == path.npos;
}

/// Whether a file is of a module of sentence-transformers, such as 1_Pooling/config.json.
bool is_module_file(std::string_view path) {
  const std::size_t slash = path.find('/');
  if (slash == path.npos) return false;
  const std::string_view folder = path.substr(0, slash);
  const std::string_view file = path.substr(slash + 1);
  const std::size_t digits = std::min(folder.find_first_not_of("0123456789"), folder.size());
  return digits > 0 && folder.substr(digits).starts_with('_') &&
         (file == kConfigFile || file == kSingleFile);
}

ModelFiles safetensors_files(Paths paths) {
  ModelFiles files;
  for (const std::string_view companion : kCompanions) {
    if (holds(paths, companion)) files.paths.emplace_back(companion);
  }
  const bool has_modules = holds(paths, kModulesFile);
  for (const std::string_view file : kEmbedderFiles) {
    if (has_modules && holds(paths, file)) files.paths.emplace_back(file);
  }
  for (const std::string& path : paths) {
    const bool is_module = has_modules && is_module_file(path);
    if (is_module || is_named_template(path)) files.paths.push_back(path);
  }
  const bool is_single = holds(paths, kSingleFile);
  files.paths.emplace_back(is_single ? kSingleFile : kIndexFile);
  if (!is_single) files.index = kIndexFile;
  return files;
}

/// The name by which a user gets one of a repository's models.
std::string name_with(ModelName name, const GgufModel& model) {
  name.file = model.label;
  return printable(to_string(name));
}

/// The default of several quantisations.
ModelFiles with_note(const GgufModel& chosen, std::span<const GgufModel> all,
                     const ModelName& name) {
  std::vector<GgufModel> others(all.begin(), all.end());
  std::erase_if(others, [&](const GgufModel& model) { return model.label == chosen.label; });
  return {.paths = chosen.files,
          .opened = chosen.files[0],
          .index = {},
          .note = cat(name.repo, " has ", all.size(), " quantisations, taking ",
                      printable(chosen.label), "; ", name_with(name, others[0]),
                      " names another: ", list_labels(others))};
}

}  // namespace

bool holds_safetensors_model(Paths paths) {
  return holds(paths, kConfigFile) && (holds(paths, kSingleFile) || holds(paths, kIndexFile));
}

std::optional<ModelFiles> choose_model_files(Paths paths, const ModelName& name) {
  const std::string& wanted = name.file;
  if (wanted.empty() && holds_safetensors_model(paths)) return safetensors_files(paths);
  std::vector<GgufModel> found = find_gguf_models(paths);
  if (!wanted.empty()) found = match_gguf_models(found, wanted);
  if (found.size() > 1 && wanted.empty()) {
    if (const auto model = default_gguf_model(found)) return with_note(*model, found, name);
  }
  if (found.size() > 1) {
    throw Error(ErrorCode::kInvalid,
                cat(name.repo, " has ", found.size(), " GGUF models",
                    wanted.empty() ? "" : cat(" that '", printable(wanted), "' could mean"),
                    ", name one as in ", name_with(name, found[0]), ": ", list_labels(found)));
  }
  if (found.size() == 1) return ModelFiles{found[0].files, found[0].files[0], {}};
  if (wanted.empty() || !holds(paths, wanted)) return std::nullopt;
  return ModelFiles{{wanted}, wanted, {}};
}

Error no_model_error(Paths paths, const std::string& name, std::string_view wanted) {
  const std::vector<GgufModel> models = find_gguf_models(paths);
  if (!wanted.empty()) {
    return model_error(name, "hub",
                       cat("it has no file '", printable(wanted), "'",
                           models.empty() ? "" : cat(", its GGUF models: ", list_labels(models))));
  }
  const bool has_pickles = std::any_of(paths.begin(), paths.end(), [](const std::string& path) {
    return path.ends_with(".bin") || path.ends_with(".pt") || path.ends_with(".pth");
  });
  return model_error(
      name, "hub",
      has_pickles ? "its weights are pickle files, which are not supported"
                  : "it holds no model: neither config.json with safetensors nor GGUF files");
}

}  // namespace ingot
