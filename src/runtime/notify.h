// Notify: how an engine tells readers that do not wait in `Stream::next`.
#pragma once

#include <functional>

namespace ingot {

/// Called from the engine's thread whenever there is something to take from a stream, or it has
/// ended. Urgent: the end, or the engine would soon pause for want of room. Quick, throws nothing.
using Notify = std::function<void(bool is_urgent)>;

}  // namespace ingot
