// Heap: the budget of one render (steps, memory, depth); every value is charged to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ingot::jinja {

/// Bounds on one render.
struct Limits {
  /// Most steps: an instruction, one visited element, or kBytesPerStep visited bytes.
  std::uint64_t steps_max = 2'000'000;
  /// Most bytes of values and texts alive at once, including the render's input.
  std::size_t memory_bytes_max = std::size_t{64} << 20;
  std::size_t output_bytes_max = std::size_t{64} << 20;
  /// Deepest nesting of calls of macros, caller() and loop().
  int calls_max = 64;
};

/// Deepest nesting of lists, dicts and namespaces; it bounds the recursion over a value.
inline constexpr int kValueDepthMax = 100;
inline constexpr std::size_t kBytesPerStep = 128;

/// An error while a template runs; the interpreter adds the place.
struct RunError {
  std::string message;
};

/// Ends a render with `message`.
[[noreturn]] void fail(std::string message);

/// The budget of one render. It outlives all of the render's values.
class Heap {
 public:
  explicit Heap(const Limits& limits) : limits_(limits) {}
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  const Limits& limits() const { return limits_; }

  /// Errors: RunError "template budget: ..." when the render has none left.
  void spend(std::uint64_t steps) {
    steps_ += steps;
    if (steps_ > limits_.steps_max) [[unlikely]]
      out_of_steps();
  }
  void spend_bytes(std::size_t bytes) { spend(bytes / kBytesPerStep + 1); }
  /// Charges a visit of each character of a text, which costs more than a copy of its bytes.
  void spend_characters(std::size_t bytes) { spend_bytes(bytes * 16); }
  /// Charges a search, which at worst compares all of `pattern` at each place.
  void spend_search(std::size_t text, std::size_t pattern) {
    spend_bytes(text * (pattern / 16 + 1));
  }

  /// Fails unless `bytes` more could be charged.
  void expect(std::size_t bytes) const {
    if (bytes > limits_.memory_bytes_max || bytes_ > limits_.memory_bytes_max - bytes) [[unlikely]]
      out_of_memory();
  }
  /// Fails unless `count` values of `bytes` each could be charged.
  void expect(std::size_t count, std::size_t bytes) const {
    if (count > limits_.memory_bytes_max) [[unlikely]]
      out_of_memory();
    expect(count * bytes);
  }
  void charge(std::size_t bytes) {
    expect(bytes);
    bytes_ += bytes;
  }
  void release(std::size_t bytes) { bytes_ -= bytes; }

  std::uint64_t steps() const { return steps_; }
  std::size_t bytes() const { return bytes_; }

 private:
  [[noreturn]] void out_of_steps() const;
  [[noreturn]] void out_of_memory() const;

  Limits limits_;
  std::uint64_t steps_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace ingot::jinja
