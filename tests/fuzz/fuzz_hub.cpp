// Fuzz target: any bytes as the hub's answer and as a model's name: what is accepted is safe as a
// path and has bounded sizes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/blob_link.h"
#include "base/check.h"
#include "base/error.h"
#include "base/text.h"
#include "hub/gguf_models.h"
#include "hub/listing.h"
#include "hub/model_name.h"
#include "hub/model_url.h"
#include "hub/snapshot_model.h"

namespace ingot {
namespace {

void check_path(std::string_view path) {
  INGOT_CHECK(!path.empty() && path.front() != '/' && path.find('\0') == path.npos, path);
  INGOT_CHECK(cat("/", path, "/").find("/../") == std::string::npos, path);
}

void check_listing(std::string_view text) {
  HubListing listing;
  try {
    listing = parse_hub_listing(text, "fuzz");
  } catch (const Error& error) {
    INGOT_CHECK(error.code() == ErrorCode::kModel, error.message());
    INGOT_CHECK(error.message().find('\n') == std::string::npos, error.message());
    return;
  }
  INGOT_CHECK(is_commit(listing.commit), listing.commit);
  for (const HubFile& file : listing.files) {
    check_path(file.path);
    INGOT_CHECK(is_blob_name(file.blob) && file.bytes <= kHubFileBytesMax, file.path);
    INGOT_CHECK(listing.find(file.path) == &file, file.path);
  }
  const auto paths = listing.paths();
  INGOT_CHECK(std::is_sorted(paths.begin(), paths.end()), "paths are not sorted");
  for (const GgufModel& model : find_gguf_models(paths)) {
    const auto found = match_gguf_models(find_gguf_models(paths), model.files[0]);
    INGOT_CHECK(found.size() == 1 && found[0].files == model.files, model.files[0]);
  }
  try {
    choose_model_files(paths, {.repo = "fuzz", .file = {}});
  } catch (const Error& error) {
    INGOT_CHECK(error.code() == ErrorCode::kInvalid, error.message());
  }
}

void check_name(std::string_view text) {
  std::optional<ModelName> name;
  try {
    name = read_model_name(text, "https://hub.example/x");
  } catch (const Error& error) {
    INGOT_CHECK(error.code() == ErrorCode::kInvalid, error.message());
    INGOT_CHECK(error.message().find('\n') == std::string::npos, error.message());
  }
  if (!name) return;
  check_path(name->repo);
  check_path(name->revision);
  if (!name->file.empty()) check_path(name->file);
  const auto again = parse_model_name(to_string(*name));
  INGOT_CHECK(again && again->repo == name->repo && again->revision == name->revision &&
                  again->file == name->file,
              to_string(*name));
}

}  // namespace
}  // namespace ingot

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ingot::check_listing(text);
  ingot::check_name(text);
  return 0;
}
