// Draws the process's random hash key, and hashes texts eight bytes at a time.
#include "text/tokenizer/keyed_hash.h"

#include <sys/random.h>

namespace ingot {

const std::array<std::uint64_t, 2>& hash_key() {
  static const std::array<std::uint64_t, 2> key = [] {
    std::array<std::uint64_t, 2> random;
    if (getrandom(random.data(), sizeof random, GRND_NONBLOCK) == sizeof random) return random;
    // If the kernel gives no random bytes, these constants lose the protection, not correctness.
    return std::array<std::uint64_t, 2>{0x9E3779B97F4A7C15, 0xD1B54A32D192ED03};
  }();
  return key;
}

std::uint64_t hash_text(std::string_view text) {
  const std::array<std::uint64_t, 2>& key = hash_key();
  std::uint64_t hash = text.size();
  while (text.size() >= 8) {
    std::uint64_t word;
    __builtin_memcpy(&word, text.data(), 8);
    hash = hash_word(hash ^ word, key);
    text.remove_prefix(8);
  }
  std::uint64_t word = 0;
  for (const char c : text) word = (word << 8) | static_cast<unsigned char>(c);
  return fold_product(hash_word(hash ^ word, key), key[0] | 1);
}

}  // namespace ingot
