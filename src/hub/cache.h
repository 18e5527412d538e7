// RepoCache: the Hugging Face hub's cache on disk, in the layout of the hub's own client.
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
  std::string blob;  ///< the name of its blob; empty if the file is no link of the cache
};

/// A repository in the cache:
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

  /// The commit of a revision: the revision itself, or the commit in its reference. Nothing unless
  /// that commit has a snapshot.
  std::optional<std::string> commit_of(std::string_view revision) const;
  /// Commits with a snapshot, sorted.
  std::vector<std::string> snapshots() const;
  /// Revisions with a reference, sorted.
  std::vector<std::string> revisions() const;
  /// The files of a snapshot whose blob exists, sorted by path.
  std::vector<CachedFile> files(std::string_view commit) const;
  /// Names of the files among the blobs, complete and unfinished ones, sorted.
  std::vector<std::string> blob_files() const;
  /// How many links of all snapshots lead to each blob.
  ///
  /// Errors: Error{kIo} when a folder cannot be read, so that no blob in use is taken for unused.
  std::map<std::string, int> blob_uses() const;

  /// Makes `path` in a snapshot a link to a blob, in place of any file with that path.
  void link(std::string_view commit, std::string_view path, std::string_view blob) const;
  /// Sets the commit that a revision refers to.
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

/// Makes a folder and its parents. Errors: Error{kIo}.
void make_folders(const std::string& path);

}  // namespace ingot
