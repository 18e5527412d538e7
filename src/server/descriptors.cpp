// Raises the soft limit on descriptors (RLIMIT_NOFILE), up to the hard limit.
#include "server/descriptors.h"

#include <sys/resource.h>

#include <algorithm>
#include <limits>

namespace ingot {

namespace {

std::int64_t to_count(rlim_t limit) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  return limit > static_cast<rlim_t>(kMost) ? kMost : static_cast<std::int64_t>(limit);
}

}  // namespace

std::int64_t raise_descriptor_limit(std::int64_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  if (to_count(limit.rlim_cur) >= wanted) return to_count(limit.rlim_cur);
  rlimit raised = limit;
  raised.rlim_cur = std::min(static_cast<rlim_t>(wanted), limit.rlim_max);
  return to_count(::setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur);
}

}  // namespace ingot
