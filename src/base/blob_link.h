// Reads symbolic links from snapshots to blobs in the Hugging Face hub's cache.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/file.h"

namespace ingot {

/// Returns whether `name` can name a blob: 40 or 64 lower-case hexadecimal digits (SHA-1, SHA-256).
bool is_blob_name(std::string_view name);

/// The target of a link in the cache: the open folder of blobs, and the blob's name.
struct BlobLink {
  Fd blobs;
  std::string blob;
};

/// Reads the link `name` in an open folder of the hub's cache. The link's text must be
/// "../../blobs/<checksum>", with one more "../" for each folder below the snapshot. `folder` must
/// lie in a folder "snapshots" that is beside "blobs". Returns nothing for other links and files.
///
/// Compares only the link's text, and does not follow the link. So a link can only lead to files in
/// the cache's own folder of blobs.
std::optional<BlobLink> read_blob_link(int folder, const std::string& name);

}  // namespace ingot
