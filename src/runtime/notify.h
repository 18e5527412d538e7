// Notify: how an engine tells readers that do not wait in `Stream::next`.
#pragma once

#include <functional>

namespace ingot {

/// Called from the engine's thread whenever there is something to take from a stream, or it has
/// ended, which is told. Quick, and throws nothing.
using Notify = std::function<void(bool has_ended)>;

}  // namespace ingot
