// WeightKeeper: decides whether the pack cache has, takes or refuses a model's weights.
#include "model/weight_keeper.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace ingot {

namespace {

/// Bytes for people: "486 MB", rounded up.
std::string shown_bytes(std::int64_t bytes) { return cat((bytes + 999'999) / 1'000'000, " MB"); }

}  // namespace

WeightKeeper::WeightKeeper(const PackCacheOptions& options, std::string key,
                           std::vector<std::int64_t> sizes)
    : folder_(options), key_(std::move(key)), sizes_(std::move(sizes)) {}

std::optional<PackedFile> WeightKeeper::find(ThreadPool& pool) {
  const bool is_default = folder_.options().is_default;
  if (key_.empty()) {
    if (!is_default) warnings_.push_back("the pack cache only keeps models that are files");
    return {};
  }
  if (!is_worth_keeping()) return {};
  try {
    folder_.expect_private();
  } catch (const Error& error) {
    warnings_.push_back(
        cat(error.plain_message(),
            ": packed weights are not kept there (--no-pack-cache turns this off)"));
    return {};
  }
  const std::string path = folder_.path(key_);
  try {
    auto packed = open_packed(path, key_, sizes_, pool, is_default);
    if (packed) {
      folder_.record_use(path);
      return packed;
    }
  } catch (const BadPackedFile& error) {
    warnings_.push_back(cat(error.plain_message(), "; it is packed anew"));
    // A new file would keep the permissions of this one.
    if (is_default) folder_.remove(path, error.file());
  } catch (const Error& error) {
    report_failure(cat("the pack cache cannot be used: ", error.plain_message()));
    return {};
  }
  keeps_ = fits();
  return {};
}

std::uint64_t WeightKeeper::bytes_to_keep() const {
  return keeps_ ? static_cast<std::uint64_t>(bytes()) : 0;
}

void WeightKeeper::keep(FunctionRef<std::span<const std::byte>(std::size_t i)> packed) {
  if (!keeps_) return;
  const std::string path = folder_.path(key_);
  try {
    folder_.make_room(path, bytes());
    write_packed(path, folder_.file_mode(), key_, sizes_, packed);
  } catch (const Error& error) {
    report_failure(cat("packed weights are not kept: ", error.plain_message()));
    return;
  }
  if (!folder_.options().is_default) return;
  notes_.push_back(cat("packed weights (", shown_bytes(bytes()), ") are kept in ",
                       printable(folder_.options().folder, 4096),
                       " for a faster start next time (--no-pack-cache turns this off)"));
}

std::int64_t WeightKeeper::bytes() const {
  return std::accumulate(sizes_.begin(), sizes_.end(), std::int64_t{0});
}

std::int64_t WeightKeeper::bytes_of_largest() const {
  return sizes_.empty() ? 0 : *std::max_element(sizes_.begin(), sizes_.end());
}

bool WeightKeeper::is_worth_keeping() const {
  return !sizes_.empty() && (!folder_.options().is_default || bytes() >= kPackBytesMin);
}

/// Whether the weights are within the folder's limit. The user hears of it once, or at each start
/// if the user chose the folder or the limit.
bool WeightKeeper::fits() {
  const std::optional<std::int64_t> limit = folder_.limit();
  if (!limit || bytes() <= *limit) return true;
  const PackCacheOptions& options = folder_.options();
  const std::string text =
      cat("packed weights (", shown_bytes(bytes()), ") are not kept: the pack cache's limit is ",
          shown_bytes(*limit), " (--pack-cache-limit)");
  if (!options.is_default || options.bytes_max) {
    warnings_.push_back(text);
  } else if (folder_.record_too_large(folder_.path(key_))) {
    notes_.push_back(text);
  }
  return false;
}

/// The default folder's failures are no warnings: the user did not ask for it.
void WeightKeeper::report_failure(const std::string& text) {
  if (folder_.options().is_default) {
    notes_.push_back(cat(text, " (--no-pack-cache turns this off)"));
  } else {
    warnings_.push_back(text);
  }
}

}  // namespace ingot
