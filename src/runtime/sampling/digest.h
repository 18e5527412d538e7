// Digest: a hash of computed logits, to compare runs bit by bit and not only by their text.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace ingot {

/// Formats a digest as 16 hexadecimal digits.
std::string digest_text(std::uint64_t digest);

/// Hashes rows of logits with XXH64, seed 0, in the order of the calls of `add`. Each logit is
/// hashed as a little-endian float32, and each NaN as the same value.
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
