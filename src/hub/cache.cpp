// RepoCache: paths in the Hugging Face cache, lists of its contents, links from snapshots to blobs.
#include "hub/cache.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/blob_link.h"
#include "base/errno_text.h"
#include "base/error.h"
#include "base/output_file.h"
#include "base/text.h"
#include "hub/model_name.h"

namespace ingot {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kModels = "models--";
/// Most files that are listed in a folder, so that a broken cache cannot fill the memory.
constexpr std::size_t kFilesMax = 100'000;
constexpr std::uint64_t kRefBytesMax = 128;

[[noreturn]] void fail(const std::string& path, const std::error_code& error) {
  throw Error(ErrorCode::kIo,
              cat(printable(path, 4096), ": cannot write: ", errno_text(error.value())));
}

/// The folder name of a repository: "models--user--name".
std::string folder_name(std::string_view repo) {
  std::string name(kModels);
  for (const char c : repo) name += c == '/' ? "--" : std::string(1, c);
  return name;
}

/// The repository of a folder name; empty if it is no repository's folder.
std::string repo_of(std::string_view folder) {
  if (!folder.starts_with(kModels)) return {};
  const std::string_view name = folder.substr(kModels.size());
  const std::size_t at = name.find("--");
  const std::string repo =
      at == name.npos ? std::string(name) : cat(name.substr(0, at), "/", name.substr(at + 2));
  return is_repo_name(repo) ? repo : std::string();
}

/// The paths of all files below `top`, relative to it, sorted; links to folders are not followed.
std::vector<std::string> walk(const std::string& top) {
  std::vector<std::string> paths;
  std::error_code error;
  fs::recursive_directory_iterator at(top, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (paths.size() >= kFilesMax) break;
    std::error_code ignored;
    const bool is_folder = at->symlink_status(ignored).type() == fs::file_type::directory;
    const std::string path = at->path().lexically_relative(top).string();
    if (!is_repo_path(path)) {
      if (is_folder) at.disable_recursion_pending();
    } else if (!is_folder) {
      paths.push_back(path);
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// The names in a folder, sorted; an empty list if it cannot be read.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator at(folder, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

RepoCache::RepoCache(std::string root, std::string repo)
    : root_(std::move(root)),
      repo_(std::move(repo)),
      folder_(cat(root_, "/", folder_name(repo_))) {}

std::string RepoCache::blob(std::string_view name) const { return cat(folder_, "/blobs/", name); }

std::string RepoCache::incomplete(std::string_view blob) const {
  return cat(folder_, "/blobs/", blob, ".incomplete");
}

std::string RepoCache::lock_folder() const { return cat(root_, "/.locks/", folder_name(repo_)); }

std::string RepoCache::lock(std::string_view blob) const {
  return cat(lock_folder(), "/", blob, ".lock");
}

std::string RepoCache::snapshot(std::string_view commit) const {
  return cat(folder_, "/snapshots/", commit);
}

std::string RepoCache::ref(std::string_view revision) const {
  return cat(folder_, "/refs/", revision);
}

std::optional<std::string> RepoCache::commit_of(std::string_view revision) const {
  std::string commit(revision);
  if (!is_commit(commit)) {
    try {
      commit = File(ref(revision)).read_all(kRefBytesMax);
    } catch (const Error&) {
      return std::nullopt;
    }
    while (!commit.empty() && (commit.back() == '\n' || commit.back() == '\r')) commit.pop_back();
  }
  std::error_code ignored;
  if (!is_commit(commit) || !fs::is_directory(snapshot(commit), ignored)) return std::nullopt;
  return commit;
}

std::vector<std::string> RepoCache::snapshots() const {
  std::vector<std::string> commits = names_in(cat(folder_, "/snapshots"));
  std::erase_if(commits, [](const std::string& name) { return !is_commit(name); });
  return commits;
}

std::vector<std::string> RepoCache::revisions() const {
  std::vector<std::string> names = walk(cat(folder_, "/refs"));
  std::erase_if(names, [](const std::string& name) { return !is_revision(name); });
  return names;
}

std::vector<CachedFile> RepoCache::files(std::string_view commit) const {
  std::vector<CachedFile> files;
  for (const std::string& path : walk(snapshot(commit))) {
    const fs::path full = fs::path(snapshot(commit)) / path;
    std::error_code error;
    CachedFile file{path, fs::file_size(full, error), {}};
    if (error) continue;  // a link to a blob that does not exist
    std::error_code no_link;
    const std::string blob = fs::read_symlink(full, no_link).filename().string();
    if (is_blob_name(blob)) file.blob = blob;
    files.push_back(std::move(file));
  }
  return files;
}

std::vector<std::string> RepoCache::blob_files() const { return names_in(cat(folder_, "/blobs")); }

std::map<std::string, int> RepoCache::blob_uses() const {
  std::map<std::string, int> uses;
  const std::string top = cat(folder_, "/snapshots");
  std::error_code error;
  fs::recursive_directory_iterator at(top, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    std::error_code no_link;
    const fs::path target = fs::read_symlink(at->path(), no_link);
    if (!no_link) ++uses[target.filename().string()];
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    throw Error(ErrorCode::kIo,
                cat(printable(top, 4096), ": cannot read: ", errno_text(error.value())));
  }
  return uses;
}

void RepoCache::link(std::string_view commit, std::string_view path, std::string_view blob) const {
  const fs::path at = fs::path(snapshot(commit)) / path;
  make_folders(at.parent_path().string());
  std::string target = cat("../../blobs/", blob);
  for (const char c : path) {
    if (c == '/') target.insert(0, "../");
  }
  std::error_code error;
  if (fs::read_symlink(at, error) == target) return;
  const std::string temporary = cat(at.string(), ".", blob, ".link");
  fs::remove(temporary, error);
  fs::create_symlink(target, temporary, error);
  if (!error) fs::rename(temporary, at, error);
  if (!error) return;
  std::error_code ignored;
  fs::remove(temporary, ignored);
  fail(at.string(), error);
}

void RepoCache::set_ref(std::string_view revision, std::string_view commit) const {
  const std::string path = ref(revision);
  make_folders(fs::path(path).parent_path().string());
  OutputFile file(path);
  file.write(commit);
  file.commit();
}

std::vector<RepoCache> cached_repos(const std::string& root) {
  std::vector<RepoCache> repos;
  for (const std::string& name : names_in(root)) {
    const std::string repo = repo_of(name);
    if (!repo.empty()) repos.emplace_back(root, repo);
  }
  return repos;
}

std::vector<std::string> paths_of(const std::vector<CachedFile>& files) {
  std::vector<std::string> paths;
  paths.reserve(files.size());
  for (const CachedFile& file : files) paths.push_back(file.path);
  return paths;
}

void make_folders(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  std::error_code ignored;
  if (error && !fs::is_directory(path, ignored)) fail(path, error);
}

}  // namespace ingot
