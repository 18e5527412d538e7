// Options of the pack cache, and the user's default folder for packed weights.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options/option_row.h"
#include "model/pack_folder.h"

namespace ingot {

/// Values of the pack cache's options, as typed.
struct PackCacheValues {
  std::optional<std::string> folder;  ///< absent: the user's default folder
  std::optional<std::string> limit;   ///< bytes; absent: the default limit
  bool is_on = true;
};

/// Makes the table of these options. Its rows set the members of `values`.
std::vector<OptionRow> pack_cache_rows(PackCacheValues& values);

/// Converts the values. Without a home folder there is no pack cache.
///
/// Errors: Error{kInvalid} for wrong values, for a limit without a folder, or if --no-pack-cache
/// contradicts another option.
PackCacheOptions pack_cache_options(const PackCacheValues& values);

}  // namespace ingot
