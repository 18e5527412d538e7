// Links of the Hugging Face hub's cache: from a snapshot's folder to the cache's own blobs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/file.h"

namespace ingot {

/// Whether `name` is a blob's: a SHA-1 or SHA-256 in lower-case hexadecimal digits.
bool is_blob_name(std::string_view name);

/// Where a link of the cache points: a blob and the folder that holds it.
struct BlobLink {
  Fd blobs;
  std::string blob;
};

/// Reads the link `name` in an open folder of the hub's cache. Its text must be
/// "../../blobs/<checksum>", with one more "../" for each folder below the snapshot, and the folder
/// must lie below the "snapshots" beside those "blobs". Nothing for any other link or file.
///
/// The link's text is compared, never followed: it can only lead to files in the cache's own folder
/// of blobs.
std::optional<BlobLink> read_blob_link(int folder, const std::string& name);

}  // namespace ingot
