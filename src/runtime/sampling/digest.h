// Digest: a hash of computed logits, to compare runs bit by bit and not only by their text.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace ingot {

/// A digest as 16 hexadecimal digits.
std::string digest_text(std::uint64_t digest);

/// XXH64 with seed 0 over rows of logits as little-endian float32 values, in the order of the calls
/// of `add`. All NaNs count as one value.
class Digest {
 public:
  Digest();
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  void add(std::span<const float> row);
  std::uint64_t value() const;
  std::string text() const { return digest_text(value()); }

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ingot
