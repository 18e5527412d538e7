// SignalStack: an alternate stack for signal handlers, for one thread.
#pragma once

#include <memory>

namespace ingot {

/// Gives the calling thread an alternate signal stack unless it has one. The destructor removes it,
/// and must run on the same thread.
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
