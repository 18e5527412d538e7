// FunctionRef: a callable passed by reference, without allocation.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <type_traits>

namespace ingot {

template <class Signature>
class FunctionRef;

/// A reference to any callable with the signature R(Args...). It does not own the callable, so use
/// it for parameters, never for members that outlive the call.
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, FunctionRef> &&
           std::is_object_v<std::remove_reference_t<F>> && std::is_invocable_r_v<R, F&, Args...>)
      // NOLINTNEXTLINE(bugprone-forwarding-reference-overload,google-explicit-constructor)
      FunctionRef(F&& callable)
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
        call_([](void* object, Args... args) -> R {
          auto& function = *static_cast<std::remove_reference_t<F>*>(object);
          return std::invoke(function, static_cast<Args&&>(args)...);
        }) {}

  R operator()(Args... args) const { return call_(object_, static_cast<Args&&>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

}  // namespace ingot
