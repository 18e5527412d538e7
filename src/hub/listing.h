// HubListing: the files of a repository as the hub lists them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// A file of a repository.
struct HubFile {
  std::string path;         ///< stays inside the repository (is_repo_path)
  std::uint64_t bytes = 0;  ///< at most kHubFileBytesMax
  /// Its checksum, which names its blob in the cache: SHA-256 for a large file, the SHA-1 of git's
  /// blob for a small one.
  std::string blob;
};

/// A repository at one commit.
struct HubListing {
  std::string commit;
  std::vector<HubFile> files;  ///< sorted by path, each once

  /// The file of that path, or null.
  const HubFile* find(std::string_view path) const;
  /// The files' paths, sorted.
  std::vector<std::string> paths() const;
};

/// The largest listing that is accepted from a server.
inline constexpr std::uint64_t kHubListingBytesMax = std::uint64_t{32} << 20;
inline constexpr std::uint64_t kHubFileBytesMax = std::uint64_t{1} << 44;
inline constexpr std::size_t kHubFilesMax = 100'000;

/// Reads the answer to GET /api/models/REPO/revision/REV?blobs=true.
///
/// Errors: model_error(source, "hub", ...) for any other text, a path that would leave the
/// repository, a size or count above the limits.
/// Source: huggingface_hub, ModelInfo and RepoSibling.
HubListing parse_hub_listing(std::string_view text, const std::string& source);

}  // namespace ingot
