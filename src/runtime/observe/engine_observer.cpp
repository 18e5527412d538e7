// EngineObserver: the names of rejection reasons, as metrics show them.
#include "runtime/observe/engine_observer.h"

#include "base/index.h"

namespace ingot {

std::string_view to_string(Rejection reason) {
  static constexpr std::string_view kNames[kRejections] = {
      "invalid", "queue_full", "draining", "failed", "deadline", "out_of_memory"};
  return at(kNames, reason);
}

}  // namespace ingot
