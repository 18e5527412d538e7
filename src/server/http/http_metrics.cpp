// Counters of responses.
#include "server/http/http_metrics.h"

namespace ingot {

void HttpMetrics::add_response(std::string_view route, int status) {
  const std::lock_guard lock(mutex_);
  ++responses_[{std::string(route), status}];
}

std::map<std::pair<std::string, int>, std::uint64_t> HttpMetrics::responses() const {
  const std::lock_guard lock(mutex_);
  return responses_;
}

}  // namespace ingot
