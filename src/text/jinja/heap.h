// What a render may use up: steps, memory, depth. Every value of a render is charged here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ingot::jinja {

/// Bounds on one render.
struct Limits {
  /// Steps: an instruction, an element that is looked at, or kBytesPerStep bytes that are.
  std::uint64_t steps_max = 2'000'000;
  /// Values and texts alive at once, those among them that the render was given.
  std::size_t memory_bytes_max = std::size_t{64} << 20;
  std::size_t output_bytes_max = std::size_t{64} << 20;
  /// Macros, caller() and loop() within each other.
  int calls_max = 64;
};

/// Nesting of lists, dicts and namespaces in each other. Bounds every walk over a value.
inline constexpr int kValueDepthMax = 100;
inline constexpr std::size_t kBytesPerStep = 128;

/// What went wrong while a template ran, without the place: the interpreter adds it.
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
  /// For looking at each character of a text, which takes as long as so many bytes of a copy.
  void spend_characters(std::size_t bytes) { spend_bytes(bytes * 16); }
  /// For a search, which at worst compares all of `pattern` at each place.
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
