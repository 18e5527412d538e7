// Keyed hash functions: each process draws a random key, so no file can force collisions.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace ingot {

/// The key: two random words, drawn once per process. It changes the places of entries in hash
/// tables, but no results.
const std::array<std::uint64_t, 2>& hash_key();

/// Both halves of the 128-bit product a * b, combined by exclusive or.
inline std::uint64_t fold_product(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// The hash of one word under `key`.
inline std::uint64_t hash_word(std::uint64_t word, const std::array<std::uint64_t, 2>& key) {
  return fold_product(word ^ key[0], key[1] | 1);
}

/// The hash of a text under `hash_key()`.
std::uint64_t hash_text(std::string_view text);

}  // namespace ingot
