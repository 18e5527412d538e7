// Budget: limits on memory and on concurrent requests, shared by all requests of a server.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace ingot {

/// A resource of limited amount, shared by all requests. Thread-safe.
class Budget {
 public:
  explicit Budget(std::size_t most) : left_(static_cast<std::int64_t>(most)) {}
  /// Takes `amount` and returns true. If less budget is left, takes nothing and returns false.
  [[nodiscard]] bool take(std::size_t amount) {
    const auto count = static_cast<std::int64_t>(amount);
    if (left_.fetch_sub(count) >= count) return true;
    left_.fetch_add(count);
    return false;
  }
  void give_back(std::size_t amount) { left_.fetch_add(static_cast<std::int64_t>(amount)); }

 private:
  std::atomic<std::int64_t> left_;
};

/// One request's share of a budget. The destructor gives the share back.
class BudgetShare {
 public:
  /// Number of bytes of each body that use no budget. So a small body never needs budget.
  static constexpr std::size_t kFreeBytes = 64 << 10;

  explicit BudgetShare(Budget& budget) : budget_(budget) {}
  ~BudgetShare() { release(); }
  BudgetShare(const BudgetShare&) = delete;
  BudgetShare& operator=(const BudgetShare&) = delete;

  /// Grows the share to `amount`. Returns false and changes nothing if too little budget is left.
  [[nodiscard]] bool grow(std::size_t amount) {
    if (amount > amount_ && !budget_.take(amount - amount_)) return false;
    amount_ = std::max(amount, amount_);
    return true;
  }
  /// Grows the share to the cost of a body of `bytes` bytes. Fails as `grow` does.
  [[nodiscard]] bool hold_body(std::size_t bytes) {
    return grow(bytes - std::min(bytes, kFreeBytes));
  }
  void release() { budget_.give_back(std::exchange(amount_, 0)); }

 private:
  Budget& budget_;
  std::size_t amount_ = 0;
};

}  // namespace ingot
