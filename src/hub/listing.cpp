// Parses and checks the hub's list of files; its names become paths on disk.
#include "hub/listing.h"

#include <algorithm>

#include "base/blob_link.h"
#include "base/error.h"
#include "base/text.h"
#include "hub/model_name.h"
#include "load/json.h"

namespace ingot {

namespace {

constexpr JsonLimits kLimits = {.bytes_max = kHubListingBytesMax, .nodes_max = 2'000'000};
constexpr std::size_t kSha256Digits = 64;

[[noreturn]] void fail(const std::string& source, std::string_view reason) {
  throw model_error(source, "hub", reason);
}

std::uint64_t read_size(const Json& object, std::string_view path, const std::string& source) {
  const Json* member = object.find("size");
  const std::int64_t* size = member == nullptr ? nullptr : member->as_int();
  if (size == nullptr || *size < 0 || static_cast<std::uint64_t>(*size) > kHubFileBytesMax) {
    fail(source, cat("the size of '", printable(path), "' is ",
                     member == nullptr ? "missing" : printable(member->dump(), 32),
                     ", expected 0 to ", kHubFileBytesMax));
  }
  return static_cast<std::uint64_t>(*size);
}

HubFile read_file(const Json& entry, const std::string& source) {
  const std::string* path = entry.find_string("rfilename");
  if (path == nullptr) fail(source, "a file has no name");
  if (!is_repo_path(*path)) {
    fail(source, cat("'", printable(*path), "' is not a path inside a repository"));
  }
  const Json* lfs = entry.find("lfs");
  const bool is_large = lfs != nullptr && !lfs->is_null();
  const std::string* blob = is_large ? lfs->find_string("sha256") : entry.find_string("blobId");
  const bool fits =
      blob != nullptr && is_blob_name(*blob) && (blob->size() == kSha256Digits) == is_large;
  if (!fits) fail(source, cat("'", printable(*path), "' has no checksum"));
  return {*path, read_size(is_large ? *lfs : entry, *path, source), *blob};
}

}  // namespace

const HubFile* HubListing::find(std::string_view path) const {
  const auto at = std::lower_bound(
      files.begin(), files.end(), path,
      [](const HubFile& file, std::string_view wanted) { return file.path < wanted; });
  return at != files.end() && at->path == path ? &*at : nullptr;
}

std::vector<std::string> HubListing::paths() const {
  std::vector<std::string> all;
  for (const HubFile& file : files) all.push_back(file.path);
  return all;
}

HubListing parse_hub_listing(std::string_view text, const std::string& source) {
  const Json root = parse_json(text, source, "hub", kLimits);
  const std::string* commit = root.find_string("sha");
  if (commit == nullptr || !is_commit(*commit)) fail(source, "the answer names no commit");
  const Json* siblings = root.find("siblings");
  const Json::Array* entries = siblings == nullptr ? nullptr : siblings->as_array();
  if (entries == nullptr) fail(source, "the answer lists no files");
  if (entries->size() > kHubFilesMax) {
    fail(source,
         cat("it has ", entries->size(), " files, at most ", kHubFilesMax, " are accepted"));
  }
  HubListing listing{*commit, {}};
  for (const Json& entry : *entries) listing.files.push_back(read_file(entry, source));
  const auto by_path = [](const HubFile& a, const HubFile& b) { return a.path < b.path; };
  std::sort(listing.files.begin(), listing.files.end(), by_path);
  const auto twice =
      std::adjacent_find(listing.files.begin(), listing.files.end(),
                         [](const HubFile& a, const HubFile& b) { return a.path == b.path; });
  if (twice != listing.files.end()) {
    fail(source, cat("'", printable(twice->path), "' is listed twice"));
  }
  return listing;
}

}  // namespace ingot
