// Checked: integer arithmetic that detects overflow, for numbers from a file or a request.
#pragma once

#include <cstdint>
#include <optional>

namespace ingot {

/// An unsigned 64-bit number or "invalid". An overflow or an invalid operand gives "invalid".
class Checked {
 public:
  constexpr explicit Checked(std::uint64_t value) : value_(value) {}

  friend constexpr Checked operator+(Checked a, Checked b) {
    Checked r(0);
    r.ok_ = a.ok_ && b.ok_ && !__builtin_add_overflow(a.value_, b.value_, &r.value_);
    return r;
  }
  friend constexpr Checked operator*(Checked a, Checked b) {
    Checked r(0);
    r.ok_ = a.ok_ && b.ok_ && !__builtin_mul_overflow(a.value_, b.value_, &r.value_);
    return r;
  }
  friend constexpr Checked operator+(Checked a, std::uint64_t b) { return a + Checked(b); }
  friend constexpr Checked operator*(Checked a, std::uint64_t b) { return a * Checked(b); }

  /// Returns the number rounded up to a multiple of `alignment`, which must be a power of two.
  constexpr Checked align_up(std::uint64_t alignment) const {
    Checked r = *this + (alignment - 1);
    r.value_ &= ~(alignment - 1);
    return r;
  }

  /// Returns the exact number, or nullopt if an operation overflowed.
  constexpr std::optional<std::uint64_t> value() const {
    return ok_ ? std::optional(value_) : std::nullopt;
  }
  /// Returns the exact number if it is at most `limit`; else nullopt, also after an overflow.
  constexpr std::optional<std::uint64_t> at_most(std::uint64_t limit) const {
    return ok_ && value_ <= limit ? std::optional(value_) : std::nullopt;
  }

 private:
  std::uint64_t value_;
  bool ok_ = true;
};

}  // namespace ingot
