// Notify: a callback by which an engine tells a reader that its stream has new deltas or has ended.
#pragma once

#include <functional>

namespace ingot {

/// For readers that do not wait in `Stream::next`. The engine's thread calls it after each delta
/// and at the end. `is_urgent`: true if the stream has ended or its queue is at least half full. A
/// full queue pauses the request. The callback must be quick and must not throw.
using Notify = std::function<void(bool is_urgent)>;

}  // namespace ingot
