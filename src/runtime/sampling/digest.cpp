// Digest: a hash of logits, by xxHash.
#include "runtime/sampling/digest.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace ingot {

std::string digest_text(std::uint64_t digest) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += kHex[(digest >> shift) & 15];
  return text;
}

struct Digest::State {
  XXH64_state_t hash;
};

Digest::Digest() : state_(std::make_unique<State>()) { XXH64_reset(&state_->hash, 0); }

Digest::~Digest() = default;

void Digest::add(std::span<const float> row) {
  std::array<std::uint32_t, 256> bits;
  while (!row.empty()) {
    const std::size_t count = std::min(row.size(), bits.size());
    std::transform(
        row.begin(), row.begin() + static_cast<std::ptrdiff_t>(count), bits.begin(),
        [](float v) { return std::isnan(v) ? 0x7fc00000u : std::bit_cast<std::uint32_t>(v); });
    XXH64_update(&state_->hash, bits.data(), count * sizeof(std::uint32_t));
    row = row.subspan(count);
  }
}

std::uint64_t Digest::value() const { return XXH64_digest(&state_->hash); }

}  // namespace ingot
