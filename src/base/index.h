// at and to_size: use containers with signed indices and counts, without a cast at each use.
#pragma once

#include <concepts>
#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "base/inline.h"

namespace ingot {

/// A type of container indices: a signed integer or an enumeration.
template <class T>
concept Index = std::signed_integral<T> || std::is_enum_v<T>;

/// A container with a known size. Pointers do not qualify, because they have no bounds to check.
template <class T>
concept Sized = requires(T& elements) {
  std::ssize(elements);
};

/// Returns the same as operator[]: element `index` of a vector, array, span or string.
///
/// Errors: an index outside [0, size) is a bug. Builds that define NDEBUG do not check the index,
/// because inner loops over rows and blocks use `at`. The presets debug, asan and tsan check it.
template <Sized Elements, Index I>
INGOT_INLINE constexpr decltype(auto) at(Elements&& elements, I index) {
  const auto number = static_cast<std::ptrdiff_t>(index);
#ifndef NDEBUG
  INGOT_CHECK(number >= 0 && number < std::ssize(elements), "index ", number, " of ",
              std::ssize(elements));
#endif
  return std::forward<Elements>(elements)[static_cast<std::size_t>(number)];
}

/// Converts a signed count or an enumerator to std::size_t, for containers.
///
/// Errors: a negative count is a bug. Builds that define NDEBUG do not check the count.
INGOT_INLINE constexpr std::size_t to_size(Index auto count) {
  const auto number = static_cast<std::ptrdiff_t>(count);
#ifndef NDEBUG
  INGOT_CHECK(number >= 0, "count ", number);
#endif
  return static_cast<std::size_t>(number);
}

}  // namespace ingot
