// Finds a model by name in the Hugging Face cache on disk, and lists all models there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hub/cache.h"
#include "hub/model_name.h"

namespace ingot {

/// Finds repository `repo` in the cache at `root`. A name without '/' also matches the last part of
/// a repository's name, ignoring case. Returns nothing if no repository matches.
///
/// Errors: Error{kInvalid} if several repositories match; the message lists them.
std::optional<RepoCache> find_cached_repo(const std::string& root, const std::string& repo);

/// A model's place in the cache.
struct FoundModel {
  std::string path;  ///< the path to open
  std::string note;  ///< ModelFiles::note
};

/// Finds the model `name`. Returns nothing if the model is not in the cache. If the name fits
/// several quantisations, chooses as `choose_model_files` does, among those in the cache.
///
/// Errors: Error{kInvalid} if several different models match; the message lists the possible names.
std::optional<FoundModel> find_cached_model(const std::string& root, const ModelName& name);

/// A model in the cache.
struct CachedModel {
  std::string name;  ///< a name that `find_cached_model` accepts
  std::uint64_t bytes = 0;
  std::string path;
  std::vector<std::string> formats;  ///< {"safetensors"} or {"gguf"}; empty: snapshot has no model
};

/// Lists all models in the cache, sorted by repository. Snapshots without a model get an entry too.
std::vector<CachedModel> cached_models(const std::string& root);

}  // namespace ingot
