// SignalStack: gives a thread an alternate stack for signal handlers.
#pragma once

#include <memory>

namespace ingot {

/// Gives the calling thread an alternate signal stack if it has none. The destructor removes the
/// stack, and must run on the same thread.
class SignalStack {
 public:
  SignalStack();
  ~SignalStack();
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  std::unique_ptr<char[]> memory_;
};

}  // namespace ingot
