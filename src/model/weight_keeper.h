// WeightKeeper: takes a model's packed weights from the pack cache, or stores them there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/index.h"
#include "base/thread_pool.h"
#include "model/pack_cache.h"
#include "model/pack_folder.h"

namespace ingot {

/// The weights of one model in the pack cache. A failure of the cache never stops the loading: it
/// becomes a line for the user.
class WeightKeeper {
 public:
  /// `key`: see packed_key. `sizes`: each weight's packed bytes, in packing order.
  WeightKeeper(const PackCacheOptions& options, std::string key, std::vector<std::int64_t> sizes);

  /// Returns the model's file, mapped and verified on the threads of `pool`; nothing if the cache
  /// does not have it. Call it once, first.
  std::optional<PackedFile> find(ThreadPool& pool);

  /// Returns the bytes that `keep` will write. 0: it will do nothing.
  std::uint64_t bytes_to_keep() const;
  std::int64_t bytes_of(std::size_t weight) const { return sizes_[weight]; }
  std::int64_t bytes_of_largest() const;
  /// Stores the weights, which `packed` returns one by one (see write_packed). Errors: those of
  /// `packed` that are not an Error.
  void keep(FunctionRef<std::span<const std::byte>(std::size_t i)> packed);

  /// Returns what the user should act on, one line each.
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// Returns what the user may want to know, one line each.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::int64_t bytes() const;
  bool is_worth_keeping() const;
  bool fits();
  void report_failure(const std::string& text);

  PackFolder folder_;
  std::string key_;
  std::vector<std::int64_t> sizes_;
  bool keeps_ = false;  ///< whether `keep` will write
  std::vector<std::string> warnings_;
  std::vector<std::string> notes_;
};

}  // namespace ingot
