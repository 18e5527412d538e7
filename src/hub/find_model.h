// Finds and lists models in the hub's cache by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hub/cache.h"
#include "hub/model_name.h"

namespace ingot {

/// The repository with this name in the cache. A name without '/' also matches the last part of a
/// repository's name, in any case. Nothing when no repository matches.
///
/// Errors: Error{kInvalid} listing the repositories when several match.
std::optional<RepoCache> find_cached_repo(const std::string& root, const std::string& repo);

/// The path under which the model of this name can be opened; nothing when it is not in the cache.
///
/// Errors: Error{kInvalid} listing the possible names when several models match.
std::optional<std::string> find_cached_model(const std::string& root, const ModelName& name);

/// A model in the cache.
struct CachedModel {
  std::string name;  ///< a name that finds this model
  std::uint64_t bytes = 0;
  std::string path;
  std::vector<std::string> formats;  ///< "safetensors", "gguf"; empty for a snapshot without model
};

/// All models in the cache, sorted by repository. Snapshots without a model are listed too.
std::vector<CachedModel> cached_models(const std::string& root);

}  // namespace ingot
