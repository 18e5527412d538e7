// Keyed hash functions: each process draws a random key, so no file can force collisions.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace ingot {

/// Returns the process's key: two random words, drawn once. The key changes the places of entries
/// in hash tables, but no results.
const std::array<std::uint64_t, 2>& hash_key();

/// Returns the exclusive or of both halves of the 128-bit product a * b.
inline std::uint64_t fold_product(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// Returns the hash of one word under `key`.
inline std::uint64_t hash_word(std::uint64_t word, const std::array<std::uint64_t, 2>& key) {
  return fold_product(word ^ key[0], key[1] | 1);
}

/// Returns the hash of a text under `hash_key()`.
std::uint64_t hash_text(std::string_view text);

}  // namespace ingot
