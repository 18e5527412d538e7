// Finds and lists models in the Hugging Face cache on disk.
#include "hub/find_model.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/ignore_case.h"
#include "base/text.h"
#include "hub/gguf_models.h"
#include "hub/snapshot_model.h"

namespace ingot {

namespace {

/// The revision to name a commit's snapshot by: main if it refers to the commit, or else another
/// reference, or else the commit.
std::string revision_name(const RepoCache& repo, const std::string& commit) {
  if (repo.commit_of("main") == commit) return "main";
  for (const std::string& revision : repo.revisions()) {
    if (repo.commit_of(revision) == commit) return revision;
  }
  return commit;
}

/// The sum of the bytes of the files with these paths, which are sorted.
std::uint64_t bytes_of(const std::vector<CachedFile>& files,
                       const std::vector<std::string>& paths) {
  std::uint64_t sum = 0;
  for (const CachedFile& file : files) {
    if (std::binary_search(paths.begin(), paths.end(), file.path)) sum += file.bytes;
  }
  return sum;
}

void list_snapshot(const RepoCache& repo, const std::string& commit,
                   std::vector<CachedModel>& models) {
  const std::string folder = repo.snapshot(commit);
  const std::vector<CachedFile> files = repo.files(commit);
  const std::vector<std::string> paths = paths_of(files);
  const std::vector<GgufModel> gguf = find_gguf_models(paths);
  const bool has_safetensors = holds_safetensors_model(paths);
  ModelName name{.repo = repo.repo(), .revision = revision_name(repo, commit), .file = {}};
  if (has_safetensors || gguf.empty()) {
    std::vector<std::string> own = paths;
    std::erase_if(own, [](const std::string& path) { return path.ends_with(".gguf"); });
    CachedModel model{to_string(name), bytes_of(files, own), folder, {}};
    if (has_safetensors) model.formats = {"safetensors"};
    models.push_back(std::move(model));
  }
  for (const GgufModel& model : gguf) {
    if (has_safetensors || gguf.size() > 1) name.file = model.label;
    models.push_back({to_string(name),
                      bytes_of(files, model.files),
                      cat(folder, "/", model.files[0]),
                      {"gguf"}});
  }
}

}  // namespace

std::optional<RepoCache> find_cached_repo(const std::string& root, const std::string& repo) {
  std::vector<RepoCache> found;
  for (RepoCache& cached : cached_repos(root)) {
    if (cached.repo() == repo) return std::move(cached);
    const std::string last_part = cached.repo().substr(cached.repo().rfind('/') + 1);
    if (equal_ignoring_case(last_part, repo)) {
      found.push_back(std::move(cached));
    }
  }
  if (found.empty()) return std::nullopt;
  if (found.size() > 1) {
    std::string names;
    for (const RepoCache& one : found) names += cat(names.empty() ? "" : ", ", one.repo());
    throw Error(ErrorCode::kInvalid, cat(repo, " could mean any of ", names));
  }
  return std::move(found.front());
}

std::optional<FoundModel> find_cached_model(const std::string& root, const ModelName& name) {
  const auto repo = find_cached_repo(root, name.repo);
  const auto commit = repo ? repo->commit_of(name.revision) : std::nullopt;
  if (!commit) return std::nullopt;
  const std::vector<std::string> paths = paths_of(repo->files(*commit));
  const auto files = choose_model_files(paths, {repo->repo(), name.revision, name.file});
  if (!files) return std::nullopt;
  return FoundModel{cat(repo->snapshot(*commit), files->opened.empty() ? "" : "/", files->opened),
                    files->note};
}

std::vector<CachedModel> cached_models(const std::string& root) {
  std::vector<CachedModel> models;
  for (const RepoCache& repo : cached_repos(root)) {
    for (const std::string& commit : repo.snapshots()) list_snapshot(repo, commit, models);
  }
  return models;
}

}  // namespace ingot
