// Removes models from the Hugging Face cache on disk.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "hub/cache.h"
#include "hub/model_name.h"

namespace ingot {

/// A planned removal: the links and references to remove, and the bytes to free.
struct Removal {
  RepoCache repo;
  std::string commit;
  std::vector<std::string> paths;      ///< files in the snapshot, sorted
  std::vector<std::string> revisions;  ///< revisions that refer to the snapshot
  bool is_whole = false;               ///< true: remove the snapshot's folder with all its files
  std::uint64_t bytes = 0;             ///< bytes of the blobs that lose their last link
};

/// Plans to remove one model's files if `name.file` is set, otherwise the whole snapshot.
///
/// Errors: model_error if the model is not in the cache; Error{kInvalid} if several models match.
Removal plan_removal(const std::string& root, const ModelName& name);

/// Removes the links, and the blobs that no snapshot uses. Removes an emptied snapshot and the
/// references to it. If no snapshot is left, removes the repository's folder. Keeps a blob that
/// another process is downloading, and calls `note` with a message about this blob.
///
/// Errors: Error{kIo}.
void remove_model(const Removal& removal, FunctionRef<void(std::string_view)> note);

}  // namespace ingot
