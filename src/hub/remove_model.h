// Removes models from the hub's cache.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "hub/cache.h"
#include "hub/model_name.h"

namespace ingot {

/// A removal: its links, references and bytes.
struct Removal {
  RepoCache repo;
  std::string commit;
  std::vector<std::string> paths;      ///< in the snapshot
  std::vector<std::string> revisions;  ///< the references to the snapshot
  bool is_whole = false;               ///< the whole snapshot is removed, with any other files
  std::uint64_t bytes = 0;             ///< bytes that become free: blobs without other links
};

/// Plans the removal of a name: one model's files if the name has a file, else the whole snapshot.
///
/// Errors: model_error when it is not in the cache; Error{kInvalid} when several models match.
Removal plan_removal(const std::string& root, const ModelName& name);

/// Removes the links, the references to a snapshot that is now empty, and the blobs that no
/// snapshot uses; the repository's folder if it is empty then. A blob that another process is
/// downloading stays, with a `note`.
///
/// Errors: Error{kIo}.
void remove_model(const Removal& removal, FunctionRef<void(std::string_view)> note);

}  // namespace ingot
