// Names of rejections.
#include "runtime/observe/engine_observer.h"

namespace ingot {

std::string_view to_string(Rejection reason) {
  switch (reason) {
    case Rejection::kInvalid:
      return "invalid";
    case Rejection::kFull:
      return "queue_full";
    case Rejection::kDraining:
      return "draining";
    case Rejection::kFailed:
      return "failed";
    case Rejection::kDeadline:
      return "deadline";
    case Rejection::kMemory:
      return "out_of_memory";
  }
  return "?";
}

}  // namespace ingot
