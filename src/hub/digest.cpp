// SHA-1 and SHA-256 by FIPS 180-4. They differ only in the function for one block.
#include "hub/digest.h"

#include <algorithm>
#include <bit>

namespace ingot {

namespace {

constexpr std::array<std::uint32_t, 64> kSha256Constants{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t load_big_endian(const std::byte* at) {
  std::uint32_t word = 0;
  for (int i = 0; i < 4; ++i) word = word << 8 | static_cast<std::uint32_t>(at[i]);
  return word;
}

/// SHA-1 of one block: FIPS 180-4, section 6.1.2.
void sha1_block(std::array<std::uint32_t, 8>& state, const std::byte* block) {
  std::array<std::uint32_t, 80> w{};
  for (std::size_t t = 0; t < 16; ++t) w[t] = load_big_endian(block + 4 * t);
  for (std::size_t t = 16; t < 80; ++t) {
    w[t] = std::rotl(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
  }
  auto [a, b, c, d, e] = std::array{state[0], state[1], state[2], state[3], state[4]};
  for (std::size_t t = 0; t < 80; ++t) {
    std::uint32_t f = 0;
    if (t < 20) {
      f = ((b & c) ^ (~b & d)) + 0x5a827999;
    } else if (t < 40) {
      f = (b ^ c ^ d) + 0x6ed9eba1;
    } else if (t < 60) {
      f = ((b & c) ^ (b & d) ^ (c & d)) + 0x8f1bbcdc;
    } else {
      f = (b ^ c ^ d) + 0xca62c1d6;
    }
    const std::uint32_t next = std::rotl(a, 5) + f + e + w[t];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  const std::array sums{a, b, c, d, e};
  for (std::size_t i = 0; i < sums.size(); ++i) state[i] += sums[i];
}

/// SHA-256 of one block: FIPS 180-4, section 6.2.2.
void sha256_block(std::array<std::uint32_t, 8>& state, const std::byte* block) {
  std::array<std::uint32_t, 64> w{};
  for (std::size_t t = 0; t < 16; ++t) w[t] = load_big_endian(block + 4 * t);
  for (std::size_t t = 16; t < 64; ++t) {
    const std::uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ w[t - 15] >> 3;
    const std::uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ w[t - 2] >> 10;
    w[t] = s1 + w[t - 7] + s0 + w[t - 16];
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t t = 0; t < 64; ++t) {
    const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kSha256Constants[t] + w[t];
    const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const std::array sums{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < sums.size(); ++i) state[i] += sums[i];
}

}  // namespace

FileDigest::FileDigest(DigestKind kind) : kind_(kind) {
  if (kind == DigestKind::kSha1) {
    state_ = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  } else {
    state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
              0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  }
}

void FileDigest::compress(const std::byte* block) {
  kind_ == DigestKind::kSha1 ? sha1_block(state_, block) : sha256_block(state_, block);
}

void FileDigest::update(std::span<const std::byte> bytes) {
  bytes_ += bytes.size();
  while (!bytes.empty()) {
    if (used_ == 0 && bytes.size() >= kBlockBytes) {
      compress(bytes.data());
      bytes = bytes.subspan(kBlockBytes);
      continue;
    }
    const auto part = bytes.first(std::min(bytes.size(), kBlockBytes - used_));
    std::copy(part.begin(), part.end(), block_.data() + used_);
    used_ += part.size();
    bytes = bytes.subspan(part.size());
    if (used_ == kBlockBytes) {
      compress(block_.data());
      used_ = 0;
    }
  }
}

std::string FileDigest::finish() {
  // Padding: a one bit, zeros up to eight bytes before a block's end, the length in bits.
  const std::uint64_t bits = bytes_ * 8;
  std::array<std::byte, 2 * kBlockBytes> tail{std::byte{0x80}};
  const std::size_t zeros_end = (used_ < 56 ? 56 : 56 + kBlockBytes) - used_;
  for (std::size_t i = 0; i < 8; ++i) {
    tail[zeros_end + i] = static_cast<std::byte>(bits >> (56 - 8 * i));
  }
  update(std::span(tail).first(zeros_end + 8));
  std::string hex;
  for (std::size_t i = 0; i < (kind_ == DigestKind::kSha1 ? 5U : 8U); ++i) {
    for (int shift = 28; shift >= 0; shift -= 4) hex += "0123456789abcdef"[state_[i] >> shift & 15];
  }
  return hex;
}

}  // namespace ingot
