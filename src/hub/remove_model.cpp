// Removes a model's links from the cache, and blobs and references that nothing uses any more.
#include "hub/remove_model.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "base/blob_link.h"
#include "base/errno_text.h"
#include "base/error.h"
#include "base/text.h"
#include "hub/file_lock.h"
#include "hub/find_model.h"
#include "hub/snapshot_model.h"

namespace ingot {

namespace fs = std::filesystem;

namespace {

void remove_path(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);  // removes a link, not its target
  if (error) {
    throw Error(ErrorCode::kIo, cat(printable(path.string(), 4096),
                                    ": cannot remove: ", errno_text(error.value())));
  }
}

/// Bytes of blobs that have no links except those of the removal.
std::uint64_t bytes_freed(const Removal& removal) {
  std::map<std::string, int> uses = removal.repo.blob_uses();
  std::uint64_t bytes = 0;
  for (const CachedFile& file : removal.repo.files(removal.commit)) {
    const bool goes = std::binary_search(removal.paths.begin(), removal.paths.end(), file.path);
    if (goes && (file.blob.empty() || --uses[file.blob] == 0)) bytes += file.bytes;
  }
  return bytes;
}

/// Whether a folder contains anything except folders, or cannot be read.
bool holds_files(const fs::path& folder) {
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (at->symlink_status(error).type() != fs::file_type::directory) return true;
  }
  return static_cast<bool>(error);
}

/// Removes blobs that no snapshot uses. Returns false if another process is writing one of them.
bool remove_unused_blobs(const RepoCache& repo, FunctionRef<void(std::string_view)> note) {
  const bool is_last = repo.snapshots().empty();
  bool is_free = true;
  for (const std::string& file : repo.blob_files()) {
    const std::string blob = file.substr(0, file.find('.'));
    const bool is_whole = blob == file;
    // An unfinished download stays if the repository has a snapshot.
    if (!is_blob_name(blob) || (!is_whole && !is_last)) continue;
    make_folders(repo.lock_folder());
    const auto lock = FileLock::try_lock(repo.lock(blob));
    if (!lock) {
      note(cat(file, " stays: another process is downloading it"));
      is_free = false;
    } else if (!repo.blob_uses().contains(blob)) {  // it was not linked meanwhile
      remove_path(repo.blob(file));
    }
  }
  return is_free;
}

}  // namespace

Removal plan_removal(const std::string& root, const ModelName& name) {
  auto repo = find_cached_repo(root, name.repo);
  const auto commit = repo ? repo->commit_of(name.revision) : std::nullopt;
  if (!commit) throw model_error(to_string(name), "hub", "it is not in the cache");
  Removal removal{.repo = *repo,
                  .commit = *commit,
                  .paths = paths_of(repo->files(*commit)),
                  .revisions = {},
                  .is_whole = name.file.empty()};
  for (const std::string& revision : repo->revisions()) {
    if (repo->commit_of(revision) == commit) removal.revisions.push_back(revision);
  }
  if (!name.file.empty()) {
    auto files = choose_model_files(removal.paths, {repo->repo(), name.revision, name.file});
    if (!files) throw no_model_error(removal.paths, repo->repo(), name.file);
    removal.paths = std::move(files->paths);
    std::sort(removal.paths.begin(), removal.paths.end());
  }
  removal.bytes = bytes_freed(removal);
  return removal;
}

void remove_model(const Removal& removal, FunctionRef<void(std::string_view)> note) {
  const RepoCache& repo = removal.repo;
  const fs::path snapshot = repo.snapshot(removal.commit);
  for (const std::string& path : removal.paths) remove_path(snapshot / path);
  if (removal.is_whole || !holds_files(snapshot)) {
    for (const std::string& revision : removal.revisions) remove_path(repo.ref(revision));
    remove_path(snapshot);
  }
  const bool is_free = remove_unused_blobs(repo, note);
  // The locks stay: another process may wait for one.
  const bool is_empty = repo.snapshots().empty() && repo.blob_uses().empty();
  if (is_free && is_empty) remove_path(repo.folder());
}

}  // namespace ingot
