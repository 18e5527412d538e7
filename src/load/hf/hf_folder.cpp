// Opens model folders: chooses the model's files and checks shards against their index.
#include "load/hf/hf_folder.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/index.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "load/gguf/gguf.h"
#include "load/hf/hf_config.h"
#include "load/hf/hf_embedder.h"
#include "load/hf/safetensors.h"
#include "load/hf/safetensors_index.h"
#include "load/split_name.h"
#include "load/tokenizer/tokenizer_files.h"
#include "load/wrong_file.h"

namespace ingot {

namespace {

constexpr std::string_view kConfigFile = "config.json";
constexpr std::string_view kGenerationFile = "generation_config.json";
constexpr std::string_view kSingleFile = "model.safetensors";
constexpr std::string_view kModulesFile = "modules.json";
constexpr std::string_view kPromptsFile = "config_sentence_transformers.json";
constexpr std::string_view kIndexFile = "model.safetensors.index.json";

/// Names of the file with text settings; sentence-transformers takes the first that exists.
constexpr std::array kTextSettingsFiles = std::to_array<std::string_view>(
    {"sentence_bert_config.json", "sentence_roberta_config.json", "sentence_distilbert_config.json",
     "sentence_camembert_config.json", "sentence_albert_config.json",
     "sentence_xlm-roberta_config.json", "sentence_xlnet_config.json"});

using Names = std::vector<std::string>;  ///< names of a folder's entries, sorted

bool holds(const Names& names, std::string_view name) {
  return std::binary_search(names.begin(), names.end(), name);
}

Names with_suffix(const Names& names, std::string_view suffix) {
  Names found;
  std::copy_if(names.begin(), names.end(), std::back_inserter(found),
               [&](const std::string& name) { return name.ends_with(suffix); });
  return found;
}

std::string base_name(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const auto slash = path.rfind('/');
  return printable(slash == std::string_view::npos || path.size() == 1 ? path
                                                                       : path.substr(slash + 1));
}

/// A member of config.json for display; long values are shortened.
Json summary(const Json& value) {
  constexpr std::size_t kEntriesMax = 16;
  constexpr std::size_t kTextMax = 4096;
  const Json::Array* list = value.as_array();
  if (list != nullptr && list->size() > kEntriesMax) return cat("[array x ", list->size(), "]");
  const std::string* text = value.as_string();
  if (text != nullptr && text->size() > kTextMax) {
    return cat(text->substr(0, kTextMax), "... (", text->size(), " bytes)");
  }
  return value;
}

class HfCheckpoint final : public Checkpoint {
 public:
  HfCheckpoint(const std::string& path, const Directory& folder, const Names& names,
               const OpenOptions& options) {
    name_ = base_name(path);
    notes_ = LoadNotes(options.accept_unknown);
    read_configs(folder, names);
    if (holds(names, kSingleFile)) {
      add_file(folder, std::string(kSingleFile));
      warn_of_bystanders(names, {std::string(kSingleFile)});
    } else {
      read_shards(folder);
    }
    for (const std::string& name : dense_folders_) add_dense(folder, name);
    tokenizer_ = read_folder_tokenizer(folder);
    index_tensors();
    notes_.warn_of_unused_keys();
  }

 private:
  /// Reads a JSON file of the folder or of one of its folders.
  Json read_json(const Directory& folder, std::string_view name) {
    const File file = open_model_file(folder, name);
    files_.push_back(file.name());
    return parse_json_file(file.read_all(kHfConfigLimits.bytes_max), file.name(), "config",
                           kHfConfigLimits);
  }

  void read_configs(const Directory& folder, const Names& names) {
    const Json root = read_json(folder, kConfigFile);
    const std::string file = files_.back();
    config_ = read_hf_config(root, file, notes_);
    if (holds(names, kGenerationFile)) {
      const Json more = read_json(folder, kGenerationFile);
      read_generation_config(more, files_.back(), config_, notes_);
    }
    if (config_.labels > 0) {
      read_hf_scores(root, file, embedder_);
    } else {
      read_modules(folder, names);
    }
    // The head is not used; sentence-transformers writes no tensor for it.
    const bool uses_head = !config_.label_tokens.empty();
    if (config_.pooling != PoolingKind::kNone && !uses_head) config_.tied.reset();
    validate_config(config_, file);
    for (const auto& [key, value] : *root.as_object()) metadata_.emplace_back(key, summary(value));
  }

  /// Reads the files of sentence-transformers.
  void read_modules(const Directory& folder, const Names& names) {
    if (!holds(names, kModulesFile)) {
      if (config_.causal) return;
      notes_.warn(cat(kModulesFile, " is missing: pooling is taken as the mean"));
      config_.pooling = PoolingKind::kMean;
      return;
    }
    const Json root = read_json(folder, kModulesFile);
    const HfModules modules = read_hf_modules(root, files_.back());
    if (!modules.scores.empty()) {
      const Json scores = read_json(module_directory(folder, modules.scores), kConfigFile);
      read_hf_logit_score(scores, files_.back(), config_);
    } else {
      read_pooling(folder, modules);
    }
    read_texts(folder, names);
  }

  void read_pooling(const Directory& folder, const HfModules& modules) {
    config_.normalise = modules.normalise;
    const Json pooling = read_json(module_directory(folder, modules.pooling), kConfigFile);
    read_hf_pooling(pooling, files_.back(), config_);
    for (const std::string& name : modules.dense) {
      const Json dense = read_json(module_directory(folder, name), kConfigFile);
      read_hf_dense(dense, files_.back(), name, config_);
      dense_folders_.push_back(name);
    }
  }

  /// Reads prompts and the longest text.
  void read_texts(const Directory& folder, const Names& names) {
    if (holds(names, kPromptsFile)) {
      const Json prompts = read_json(folder, kPromptsFile);
      read_hf_prompts(prompts, files_.back(), embedder_);
    }
    for (const std::string_view name : kTextSettingsFiles) {
      if (!holds(names, name)) continue;
      const Json settings = read_json(folder, name);
      read_hf_text_settings(settings, files_.back(), embedder_);
      break;
    }
  }

  /// Opens a module's folder. `name` must be a plain name.
  static Directory module_directory(const Directory& folder, const std::string& name) {
    const std::string path = cat(folder.name(), folder.name().ends_with('/') ? "" : "/", name);
    std::error_code none;
    // A link could lead out of the model's folder.
    if (!std::filesystem::is_directory(std::filesystem::symlink_status(path, none))) {
      throw model_error(folder.name(), "folder",
                        cat(kModulesFile, " names the folder ", printable(name),
                            ", which does not exist or is a link"));
    }
    return Directory(path);
  }

  /// Adds the tensors of a dense module, with the folder's name before theirs.
  void add_dense(const Directory& folder, const std::string& name) {
    const std::size_t first = tensors_.size();
    add_file(module_directory(folder, name), std::string(kSingleFile));
    for (std::size_t i = first; i < tensors_.size(); ++i) {
      tensors_[i].name = cat(name, "/", tensors_[i].name);
    }
  }

  void read_shards(const Directory& folder) {
    const File file = open_model_file(folder, kIndexFile);
    files_.push_back(file.name());
    const std::string text = file.read_all(kSafetensorsIndexBytesMax);
    const SafetensorsIndex index = parse_safetensors_index(text, file.name());
    for (const std::string& name : index.files) add_file(folder, name);
    check_index(index, file.name());
    if (!index.odd_total_size.empty()) {
      notes_.detail(cat(kIndexFile, ": metadata.total_size is ", index.odd_total_size,
                        ", expected a size in bytes"));
    }
    if (index.total_size) {
      std::uint64_t sum = 0;
      for (const TensorInfo& tensor : tensors_) sum += tensor.bytes;
      if (sum != *index.total_size) {
        notes_.warn(cat(kIndexFile, " says that the tensors have ", *index.total_size,
                        " bytes, they have ", sum));
      }
    }
    warn_of_bystanders(folder.list(), index.files);
  }

  void add_file(const Directory& folder, const std::string& name) {
    mapped_.emplace_back(open_model_file(folder, name));
    const MappedFile& file = mapped_.back();
    files_.push_back(file.name());
    const auto index = static_cast<std::int32_t>(mapped_.size() - 1);
    Safetensors content = parse_safetensors(file.bytes(), file.name(), index);
    tensors_.insert(tensors_.end(), std::make_move_iterator(content.tensors.begin()),
                    std::make_move_iterator(content.tensors.end()));
  }

  /// Checks that the index lists each tensor at its file, and that all listed tensors exist.
  void check_index(const SafetensorsIndex& index, const std::string& index_name) const {
    std::vector<bool> seen(index.tensors.size());
    for (const TensorInfo& tensor : tensors_) {
      const std::pair<std::string, std::int32_t> place(tensor.name, tensor.file);
      const auto at = std::lower_bound(index.tensors.begin(), index.tensors.end(), place);
      if (at == index.tensors.end() || *at != place) {
        throw model_error(file_of(tensor), "data", tensor.offset,
                          cat("tensor '", printable(tensor.name), "' is here, but ", kIndexFile,
                              " does not say so"));
      }
      seen[to_size(at - index.tensors.begin())] = true;
    }
    const auto missing = std::find(seen.begin(), seen.end(), false);
    if (missing == seen.end()) return;
    const auto& [name, file] = at(index.tensors, missing - seen.begin());
    throw model_error(
        index_name, "index",
        cat("tensor '", printable(name), "' is not in ", printable(at(index.files, file))));
  }

  void warn_of_bystanders(const Names& names, const Names& read) {
    for (const std::string& name : names) {
      const bool weights = name.ends_with(".safetensors") || name.ends_with(".gguf") ||
                           (name == kIndexFile && mapped_.size() == 1 && read[0] == kSingleFile);
      if (weights && std::find(read.begin(), read.end(), name) == read.end()) {
        notes_.warn(cat(printable(name), " in the folder is not read"));
      }
    }
  }

  std::vector<std::string> dense_folders_;  ///< folders of dense modules, in their order
};

/// Whether `names` are all parts of one split model. Opening it checks the number of parts.
bool is_one_set(const Names& names) {
  const auto first = parse_split_name(names.front());
  return first && std::all_of(names.begin(), names.end(), [&](const std::string& name) {
           const auto split = parse_split_name(name);
           return split && split->stem == first->stem;
         });
}

/// The error message for a folder without a model.
std::string why_no_model(const Names& names) {
  for (const std::string_view suffix : {".bin", ".pt", ".pth", ".ckpt", ".pkl"}) {
    const Names pickles = with_suffix(names, suffix);
    if (pickles.empty()) continue;
    return cat("pickle files are not supported, convert to safetensors: found ",
               printable(pickles.front()));
  }
  if (holds(names, kConfigFile)) {
    return cat("there is a config.json, but neither ", kSingleFile, " nor ", kIndexFile);
  }
  return cat("no model found: looked for config.json with ", kSingleFile, " or ", kIndexFile,
             ", and for a .gguf file");
}

}  // namespace

std::unique_ptr<Checkpoint> open_model_folder(const std::string& path, const OpenOptions& options) {
  const Directory folder(path);
  const Names names = folder.list();
  if (holds(names, kConfigFile) && (holds(names, kSingleFile) || holds(names, kIndexFile))) {
    return std::make_unique<HfCheckpoint>(path, folder, names, options);
  }
  const std::optional<std::string> gguf = folder_gguf(path);
  if (!gguf) throw model_error(path, "folder", why_no_model(names));
  return open_gguf(*gguf, options);
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return path.find('\0') == std::string::npos && std::filesystem::is_directory(path, ignored);
}

std::optional<std::string> folder_gguf(const std::string& path) {
  const Names gguf = with_suffix(Directory(path).list(), ".gguf");
  if (gguf.empty()) return std::nullopt;
  if (gguf.size() > 1 && !is_one_set(gguf)) {
    throw model_error(path, "folder",
                      cat("there are ", gguf.size(), " GGUF files, name the one that is meant"));
  }
  return cat(path, path.ends_with('/') ? "" : "/", gguf.front());
}

}  // namespace ingot
