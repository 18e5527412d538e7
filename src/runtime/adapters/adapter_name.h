// The names and scales that adapters may have, in options and in requests.
#pragma once

#include <cstddef>
#include <string_view>

namespace ingot {

/// The name that stands for no adapter.
inline constexpr std::string_view kNoAdapter = "none";

inline constexpr std::size_t kAdapterNameBytesMax = 256;
/// Limit on the magnitude of a scale. Larger ones would only overflow.
inline constexpr double kAdapterScaleMax = 1000;

/// Checks the name of an adapter. A name has no comma, because metrics list names with commas
/// between them.
///
/// Errors: Error{kInvalid} for a name that is empty, too long, "none", no UTF-8 or a folder's, or
/// that has control characters, "/" or ",". The message begins with `place`.
void check_adapter_name(std::string_view name, std::string_view place);
/// Returns whether `check_adapter_name` accepts the name.
bool is_adapter_name(std::string_view name);

}  // namespace ingot
