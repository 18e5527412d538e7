// Heap: counts the steps and the memory of one template render, and fails beyond the limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ingot::jinja {

/// Limits on one render of a template.
struct Limits {
  /// Most steps. A step is an instruction, a visited element, or kBytesPerStep visited bytes.
  std::uint64_t steps_max = 2'000'000;
  /// Most bytes that all live values and texts may use, including the input.
  std::size_t memory_bytes_max = std::size_t{64} << 20;
  std::size_t output_bytes_max = std::size_t{64} << 20;
  /// Deepest nesting of calls to macros, caller() and loop().
  int calls_max = 64;
};

/// Most levels of nested lists, dicts and namespaces. The limit bounds recursion over a value.
inline constexpr int kValueDepthMax = 100;
inline constexpr std::size_t kBytesPerStep = 128;

/// An error while a template runs. JinjaTemplate::render adds the line and column.
struct RunError {
  std::string message;
};

/// Throws RunError with `message`. The error ends the render.
[[noreturn]] void fail(std::string message);

/// Counts the steps and memory of one render. The Heap must outlive all values of the render.
class Heap {
 public:
  explicit Heap(const Limits& limits) : limits_(limits) {}
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  const Limits& limits() const { return limits_; }

  /// Counts steps. Errors: RunError "template budget: ..." beyond steps_max.
  void spend(std::uint64_t steps) {
    steps_ += steps;
    if (steps_ > limits_.steps_max) [[unlikely]]
      out_of_steps();
  }
  void spend_bytes(std::size_t bytes) { spend(bytes / kBytesPerStep + 1); }
  /// Counts the steps of visiting each character of a text: 16 times those of copying the text.
  void spend_characters(std::size_t bytes) { spend_bytes(bytes * 16); }
  /// Counts the most steps that a search for `pattern` bytes in `text` bytes can take.
  void spend_search(std::size_t text, std::size_t pattern) {
    spend_bytes(text * (pattern / 16 + 1));
  }

  /// Throws RunError unless `bytes` more bytes fit into the memory limit.
  void expect(std::size_t bytes) const {
    if (bytes > limits_.memory_bytes_max || bytes_ > limits_.memory_bytes_max - bytes) [[unlikely]]
      out_of_memory();
  }
  /// Throws RunError unless `count` values of `bytes` bytes each fit into the memory limit.
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

 private:
  [[noreturn]] void out_of_steps() const;
  [[noreturn]] void out_of_memory() const;

  Limits limits_;
  std::uint64_t steps_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace ingot::jinja
