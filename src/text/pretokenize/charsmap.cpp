// Charsmap: searches the double-array trie of a precompiled map, and checks each offset first.
#include "text/pretokenize/charsmap.h"

#include <algorithm>
#include <span>

#include "base/byte_reader.h"
#include "base/text.h"
#include "base/utf8.h"
#include "text/unicode/normalize.h"

namespace ingot {
namespace {

// Bit fields of a unit of the double array.
bool has_leaf(std::uint32_t unit) { return (unit >> 8 & 1) != 0; }
std::uint32_t label(std::uint32_t unit) { return unit & (1U << 31 | 0xFF); }
std::uint32_t offset(std::uint32_t unit) { return (unit >> 10) << ((unit & 1U << 9) >> 6); }
std::uint32_t leaf_value(std::uint32_t unit) { return unit & ~(1U << 31); }

}  // namespace

Charsmap Charsmap::parse(std::string_view bytes, std::string_view file) {
  Charsmap map;
  if (bytes.empty()) return map;
  ByteReader reader(std::as_bytes(std::span(bytes)), std::string(file));
  reader.section("precompiled map");
  if (bytes.size() > kCharsmapBytesMax) {
    reader.fail(cat(bytes.size(), " bytes are more than ", kCharsmapBytesMax));
  }
  const auto trie_bytes = reader.read<std::uint32_t>();
  if (trie_bytes == 0 || trie_bytes % sizeof(std::uint32_t) != 0) {
    reader.fail(cat("a trie of ", trie_bytes, " bytes, expected a multiple of 4"));
  }
  const std::span<const std::byte> trie = reader.bytes(trie_bytes);
  map.units_.resize(trie.size() / sizeof(std::uint32_t));
  __builtin_memcpy(map.units_.data(), trie.data(), trie.size());
  map.replacements_ = reader.text(reader.remaining());
  if (map.replacements_.empty() || map.replacements_.back() != '\0') {
    reader.fail("the replacements do not end with NUL");
  }
  return map;
}

Charsmap::Match Charsmap::longest_key(std::string_view text) const {
  Match match;
  std::uint32_t at = offset(units_[0]);
  const std::size_t bytes = std::min(text.size(), kCharsmapKeyBytesMax);
  for (std::size_t i = 0; i < bytes; ++i) {
    const auto byte = static_cast<std::uint8_t>(text[i]);
    at ^= byte;
    if (at >= units_.size() || label(units_[at]) != byte) break;
    const std::uint32_t unit = units_[at];
    at ^= offset(unit);
    if (!has_leaf(unit)) continue;
    if (at >= units_.size()) break;
    const std::uint32_t value = leaf_value(units_[at]);
    if (value < replacements_.size()) match = {i + 1, value};
  }
  return match;
}

std::string Charsmap::normalize(std::string_view text, std::size_t bytes_max) const {
  if (empty()) return std::string(text);
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Match match = longest_key(text.substr(at));
    if (match.size > 0) {
      out += replacements_.c_str() + match.replacement;
      at += match.size;
    } else {
      const Utf8Char step = decode_utf8(text.substr(at));
      append_utf8(out, step.code);
      at += step.valid ? step.size : 1;
    }
    check_normalized_size(out.size(), bytes_max);
  }
  return out;
}

}  // namespace ingot
