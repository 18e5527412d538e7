// Notify: a callback that tells a reader that the reader's stream has new deltas or has ended.
#pragma once

#include <functional>

namespace ingot {

/// A callback for readers that do not wait in `Stream::next`. The engine's thread calls it after
/// each delta and at the end. It must be quick and must not throw. `is_urgent` is true if the
/// stream has ended or its queue is at least half full. A full queue pauses the request.
using Notify = std::function<void(bool is_urgent)>;

}  // namespace ingot
