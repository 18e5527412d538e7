// Notify: a callback by which an engine tells a reader that its stream has something new.
#pragma once

#include <functional>

namespace ingot {

/// For readers that do not wait in `Stream::next`. The engine's thread calls it after each delta
/// and at the end. Urgent: the stream has ended, or its queue is half full and would pause the
/// sequence. Must be quick and throw nothing.
using Notify = std::function<void(bool is_urgent)>;

}  // namespace ingot
