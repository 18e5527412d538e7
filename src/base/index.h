// at, to_size: signed indices and counts for containers, without a cast at each use.
#pragma once

#include <concepts>
#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "base/inline.h"

namespace ingot {

/// A signed integer, or an enumerator that numbers the elements of a table.
template <class T>
concept Index = std::signed_integral<T> || std::is_enum_v<T>;

/// A container of known size: a pointer has no bounds to check.
template <class T>
concept Sized = requires(T& elements) {
  std::ssize(elements);
};

/// Element `index` of a vector, array, span or string, as its operator[] gives it.
///
/// Errors: an index outside [0, size) is a bug; checked where NDEBUG is not defined (the presets
/// debug, asan and tsan), since loops over rows and blocks index with it.
template <Sized Elements, Index I>
INGOT_INLINE constexpr decltype(auto) at(Elements&& elements, I index) {
  const auto number = static_cast<std::ptrdiff_t>(index);
#ifndef NDEBUG
  INGOT_CHECK(number >= 0 && number < std::ssize(elements), "index ", number, " of ",
              std::ssize(elements));
#endif
  return std::forward<Elements>(elements)[static_cast<std::size_t>(number)];
}

/// A count or a number of bytes as containers take it.
///
/// Errors: a negative count is a bug, checked as above.
INGOT_INLINE constexpr std::size_t to_size(std::signed_integral auto count) {
#ifndef NDEBUG
  INGOT_CHECK(count >= 0, "count ", count);
#endif
  return static_cast<std::size_t>(count);
}

}  // namespace ingot
