// Holding back what may become a stop string.
#include "runtime/stop_text.h"

#include <algorithm>

namespace ingot {

bool StopText::push(std::string_view text, std::string& out) {
  held_ += text;
  std::size_t first = std::string::npos;
  for (const std::string& stop : stops_) first = std::min(first, held_.find(stop));
  if (first != std::string::npos) {
    out += held_.substr(0, first);
    held_.clear();
    return true;
  }
  std::size_t keep = 0;
  for (const std::string& stop : stops_) {
    for (std::size_t n = std::min(stop.size() - 1, held_.size()); n > keep; --n) {
      if (held_.compare(held_.size() - n, n, stop, 0, n) == 0) keep = n;
    }
  }
  out += held_.substr(0, held_.size() - keep);
  held_.erase(0, held_.size() - keep);
  return false;
}

void StopText::finish(std::string& out) {
  out += held_;
  held_.clear();
}

}  // namespace ingot
