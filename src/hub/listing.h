// HubListing: parses the Hugging Face hub's list of a repository's files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// A file of a repository on the hub.
struct HubFile {
  std::string path;         ///< path in the repository; is_repo_path(path) is true
  std::uint64_t bytes = 0;  ///< size of the file, at most kHubFileBytesMax
  /// Checksum, which is the blob's name in the cache: SHA-256 for a large file (LFS), git's SHA-1
  /// for a small file.
  std::string blob;
};

/// The files of a repository at one commit.
struct HubListing {
  std::string commit;
  std::vector<HubFile> files;  ///< sorted by path, without duplicates

  /// Returns the file with this path, or null.
  const HubFile* find(std::string_view path) const;
  /// Returns the paths of all files, sorted.
  std::vector<std::string> paths() const;
};

/// Limits on a server's listing: bytes of its JSON, bytes of a file, number of files.
inline constexpr std::uint64_t kHubListingBytesMax = std::uint64_t{32} << 20;
inline constexpr std::uint64_t kHubFileBytesMax = std::uint64_t{1} << 44;
inline constexpr std::size_t kHubFilesMax = 100'000;

/// Parses the response to GET /api/models/REPO/revision/REV?blobs=true.
///
/// Errors: model_error(source, "hub", ...) for malformed text, a path that would leave the
/// repository, or a size or count above the limits.
/// Source: huggingface_hub, ModelInfo and RepoSibling.
HubListing parse_hub_listing(std::string_view text, const std::string& source);

}  // namespace ingot
