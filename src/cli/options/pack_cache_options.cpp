// Declares the pack cache's options, and finds the user's cache folder.
#include "cli/options/pack_cache_options.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/text.h"
#include "cli/options/options.h"

namespace ingot {

namespace {

namespace fs = std::filesystem;

/// The default folder, below the folder that the XDG Base Directory Specification names; empty if
/// that one cannot exist. A home folder exists: services without one have HOME=/nonexistent.
std::string default_folder() {
  const auto absolute = [](const char* name) -> std::string {
    const char* value = std::getenv(name);  // the specification ignores relative paths
    return value == nullptr || *value != '/' ? std::string() : value;
  };
  constexpr std::string_view kBelow = "/ingot/packed";
  if (const std::string cache = absolute("XDG_CACHE_HOME"); !cache.empty()) {
    return may_have_folder(cache) ? cat(cache, kBelow) : std::string();
  }
  const std::string home = absolute("HOME");
  std::error_code error;
  return fs::is_directory(home, error) ? cat(home, "/.cache", kBelow) : std::string();
}

}  // namespace

std::vector<OptionRow> pack_cache_rows(PackCacheValues& v) {
  return {{.flag = "--pack-cache",
           .value = &v.folder,
           .help = "A folder that keeps packed weights: the next start maps them, processes share "
                   "them (default: ingot/packed in the user's cache)"},
          {.flag = "--pack-cache-limit",
           .value = &v.limit,
           .help = "Bytes of packed weights to keep, with K, M or G; least recently used files go "
                   "(default: 10G or a tenth of the free disk; no limit with --pack-cache)"},
          {.flag = "--no-pack-cache",
           .value = &v.is_on,
           .help = "Keep no packed weights",
           .report = "packed_weights_kept"}};
}

PackCacheOptions pack_cache_options(const PackCacheValues& v) {
  if (v.folder && v.folder->empty()) throw bad_option("--pack-cache", "", "expected a folder");
  PackCacheOptions options{.is_default = !v.folder};
  if (v.limit) options.bytes_max = parse_bytes(*v.limit, "--pack-cache-limit");
  if (!v.is_on) {
    if (v.folder || v.limit) {
      throw Error(ErrorCode::kInvalid, cat("--no-pack-cache contradicts ",
                                           v.folder ? "--pack-cache" : "--pack-cache-limit"));
    }
    return {};
  }
  options.folder = v.folder ? *v.folder : default_folder();
  if (v.limit && options.folder.empty()) {
    throw Error(ErrorCode::kInvalid,
                "--pack-cache-limit needs a folder: this user has no cache folder, --pack-cache "
                "names one");
  }
  return options;
}

}  // namespace ingot
