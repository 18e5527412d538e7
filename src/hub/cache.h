// RepoCache: a repository in the Hugging Face cache on disk, in the layout of huggingface_hub.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// A file of a snapshot.
struct CachedFile {
  std::string path;  ///< path relative to the folder of the snapshot
  std::uint64_t bytes = 0;
  std::string blob;  ///< name of the blob to which `path` links; empty: `path` links to no blob
};

/// A repository in the cache. Its layout:
///
///   <root>/models--<user>--<name>/blobs/<checksum>              the contents
///                                /snapshots/<commit>/<path>     links to ../../blobs/<checksum>
///                                /refs/<revision>               the commit's digits
///   <root>/.locks/models--<user>--<name>/<checksum>.lock        held while a blob is written
///
/// Errors: unreadable files and folders count as absent; functions that write throw Error{kIo}.
/// Source: huggingface_hub, "Understand caching".
class RepoCache {
 public:
  /// Refers to repository `repo` in the cache's folder `root`. is_repo_name(repo) must be true.
  RepoCache(std::string root, std::string repo);

  const std::string& repo() const { return repo_; }
  const std::string& folder() const { return folder_; }
  std::string blob(std::string_view name) const;
  std::string incomplete(std::string_view blob) const;
  std::string lock(std::string_view blob) const;
  std::string lock_folder() const;
  std::string snapshot(std::string_view commit) const;
  std::string ref(std::string_view revision) const;

  /// Returns the commit that a revision names: `revision` itself if it is a commit, otherwise the
  /// content of file refs/<revision>. Returns nothing if this file or the snapshot is missing.
  std::optional<std::string> commit_of(std::string_view revision) const;
  /// Returns the commits that have a snapshot, sorted.
  std::vector<std::string> snapshots() const;
  /// Returns the revisions that have a file in the folder `refs`, sorted.
  std::vector<std::string> revisions() const;
  /// Returns the files of a snapshot, sorted by path. Leaves out links to missing blobs.
  std::vector<CachedFile> files(std::string_view commit) const;
  /// Returns the sorted names of all files in the folder `blobs`, including unfinished downloads.
  std::vector<std::string> blob_files() const;
  /// Counts the links to each blob, in all snapshots.
  ///
  /// Errors: Error{kIo} for an unreadable folder, because a used blob could otherwise look unused.
  std::map<std::string, int> blob_uses() const;

  /// Links `path` in a snapshot to a blob. Replaces an existing file at `path`.
  void link(std::string_view commit, std::string_view path, std::string_view blob) const;
  /// Sets the commit to which a revision refers.
  void set_ref(std::string_view revision, std::string_view commit) const;

 private:
  std::string root_;
  std::string repo_;
  std::string folder_;
};

/// Returns all model repositories in the cache at `root`, sorted by name.
std::vector<RepoCache> cached_repos(const std::string& root);

/// Returns the path of each of the `files`, in their order.
std::vector<std::string> paths_of(const std::vector<CachedFile>& files);

/// Creates a folder and its parents. Errors: Error{kIo}.
void make_folders(const std::string& path);

}  // namespace ingot
