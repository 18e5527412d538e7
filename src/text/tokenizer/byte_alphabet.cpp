// Converts between bytes and GPT-2's byte alphabet.
#include "text/tokenizer/byte_alphabet.h"

#include <array>

#include "base/utf8.h"

namespace ingot {
namespace {

constexpr int kMoved = 68;  // bytes that are not printable in Latin-1

constexpr bool stands_for_itself(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr std::array<std::uint8_t, kMoved> kMovedBytes = [] {
  std::array<std::uint8_t, kMoved> bytes{};
  std::size_t count = 0;
  for (int b = 0; b < 256; ++b) {
    if (!stands_for_itself(b)) bytes[count++] = static_cast<std::uint8_t>(b);
  }
  return bytes;
}();

constexpr std::array<char32_t, 256> kLetters = [] {
  std::array<char32_t, 256> letters{};
  for (std::size_t b = 0; b < 256; ++b) letters[b] = static_cast<char32_t>(b);
  for (std::size_t i = 0; i < kMoved; ++i) letters[kMovedBytes[i]] = static_cast<char32_t>(256 + i);
  return letters;
}();

}  // namespace

char32_t byte_to_letter(std::uint8_t byte) { return kLetters[byte]; }

std::optional<std::string> letters_to_bytes(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    const Utf8Char step = decode_utf8(text);
    if (!step.valid) return std::nullopt;
    if (step.code < 256 && stands_for_itself(static_cast<int>(step.code))) {
      bytes += static_cast<char>(step.code);
    } else if (step.code >= 256 && step.code < 256 + kMoved) {
      bytes += static_cast<char>(kMovedBytes[step.code - 256]);
    } else {
      return std::nullopt;
    }
    text.remove_prefix(step.size);
  }
  return bytes;
}

}  // namespace ingot
