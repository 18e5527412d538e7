// The hub's cache on disk, in the layout of the hub's own client.
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
  std::string path;  ///< below the snapshot
  std::uint64_t bytes = 0;
  std::string blob;  ///< the name of its content among the blobs; empty where it is no link
};

/// A repository in the cache:
///
///   <root>/models--<user>--<name>/blobs/<checksum>              the contents
///                                /snapshots/<commit>/<path>     links to ../../blobs/<checksum>
///                                /refs/<revision>               the commit's digits
///   <root>/.locks/models--<user>--<name>/<checksum>.lock        held while a blob is written
///
/// Errors: what cannot be read is not there; functions that write throw Error{kIo}.
/// Source: huggingface_hub, "Understand caching".
class RepoCache {
 public:
  /// `repo` must be a repository's name (is_repo_name).
  RepoCache(std::string root, std::string repo);

  const std::string& repo() const { return repo_; }
  const std::string& folder() const { return folder_; }
  std::string blob(std::string_view name) const;
  std::string incomplete(std::string_view blob) const;
  std::string lock(std::string_view blob) const;
  std::string lock_folder() const;
  std::string snapshot(std::string_view commit) const;
  std::string ref(std::string_view revision) const;

  /// The commit that a revision stands for: itself, or what its reference says; absent unless there
  /// is a snapshot of it.
  std::optional<std::string> commit_of(std::string_view revision) const;
  /// Commits that there are snapshots of, sorted.
  std::vector<std::string> snapshots() const;
  /// Revisions with a reference, sorted.
  std::vector<std::string> revisions() const;
  /// The files of a snapshot whose content is there, sorted by path.
  std::vector<CachedFile> files(std::string_view commit) const;
  /// Names of blobs, whole ones and unfinished ones, sorted.
  std::vector<std::string> blob_files() const;
  /// How many links of all snapshots lead to each blob, whatever the links' names are.
  ///
  /// Errors: Error{kIo} when a part cannot be read: what may be in use counts as used.
  std::map<std::string, int> blob_uses() const;

  /// Makes `path` in a snapshot a link to a blob. Whatever was there before is replaced.
  void link(std::string_view commit, std::string_view path, std::string_view blob) const;
  /// Makes a revision stand for a commit.
  void set_ref(std::string_view revision, std::string_view commit) const;

 private:
  std::string root_;
  std::string repo_;
  std::string folder_;
};

/// Repositories of models in the cache at `root`, sorted by name.
std::vector<RepoCache> cached_repos(const std::string& root);

/// The paths of `files`.
std::vector<std::string> paths_of(const std::vector<CachedFile>& files);

/// Makes a folder and those above it. Errors: Error{kIo}.
void make_folders(const std::string& path);

}  // namespace ingot
