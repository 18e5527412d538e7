// Removing models from the cache.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "hub/cache.h"
#include "hub/model_name.h"

namespace ingot {

/// What a removal will do.
struct Removal {
  RepoCache repo;
  std::string commit;
  std::vector<std::string> paths;      ///< in the snapshot
  std::vector<std::string> revisions;  ///< that stand for the snapshot
  bool is_whole = false;               ///< whatever else is in the snapshot goes too
  std::uint64_t bytes = 0;             ///< that become free: of contents that nothing else uses
};

/// Finds what a name means: with a file, those of its model; without one the whole snapshot.
///
/// Errors: model_error when it is not in the cache; Error{kInvalid} when it means several.
Removal plan_removal(const std::string& root, const ModelName& name);

/// Removes the links, the references to a snapshot that is empty then, and the contents that no
/// snapshot uses; the repository's folder when nothing is left. A content that another process is
/// downloading stays, with a `note`.
///
/// Errors: Error{kIo}.
void remove_model(const Removal& removal, FunctionRef<void(std::string_view)> note);

}  // namespace ingot
