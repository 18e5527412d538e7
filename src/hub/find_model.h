// Models in the cache by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hub/cache.h"
#include "hub/model_name.h"

namespace ingot {

/// The repository that a name means: that very one, or where the name has one part only, the one
/// whose last part it is, whatever its case. Nothing when there is none in the cache.
///
/// Errors: Error{kInvalid} listing them when there are several.
std::optional<RepoCache> find_cached_repo(const std::string& root, const std::string& repo);

/// The path under which the model of this name can be opened; nothing when it is not in the cache.
///
/// Errors: Error{kInvalid} listing what can be named when the name means several models.
std::optional<std::string> find_cached_model(const std::string& root, const ModelName& name);

/// A model in the cache.
struct CachedModel {
  std::string name;  ///< finds it again
  std::uint64_t bytes = 0;
  std::string path;
  std::vector<std::string> formats;  ///< "safetensors" or "gguf"; none where it is no model
};

/// All models in the cache, sorted by repository. Snapshots without a model are listed too.
std::vector<CachedModel> cached_models(const std::string& root);

}  // namespace ingot
