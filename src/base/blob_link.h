// Links of the Hugging Face hub's cache: from a snapshot's folder to the cache's own blobs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/file.h"

namespace ingot {

/// Whether this is the name of a blob: a SHA-1 or SHA-256 in lower-case hexadecimal digits.
bool is_blob_name(std::string_view name);

/// The folder of blobs and the blob in it that the link `name` in `folder` names.
struct BlobLink {
  Fd blobs;
  std::string blob;
};

/// Reads `name` in an open folder as a link of the hub's cache: one whose text is
/// "../../blobs/<checksum>" (one "../" more for each folder below the snapshot), in a folder that
/// lies below "snapshots" beside those "blobs". Nothing for any other link or file.
///
/// The link's text is only compared, never followed: what can be reached by it are files that
/// are named by a checksum in one folder, which belongs to the same cache.
std::optional<BlobLink> read_blob_link(int folder, const std::string& name);

}  // namespace ingot
