// AdapterList: finds where in a prompt its adapters begin.
#include "runtime/adapters/adapter_list.h"

#include <algorithm>

namespace ingot {

std::int64_t first_adapted_row(const AdapterList& list, std::span<const std::int32_t> prompt) {
  if (list.invocation.empty()) return 0;
  const auto found =
      std::find_end(prompt.begin(), prompt.end(), list.invocation.begin(), list.invocation.end());
  return found == prompt.end() ? -1 : found - prompt.begin();
}

}  // namespace ingot
