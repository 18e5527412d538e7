// SentencePiece's precompiled normaliser: a trie of keys, and their replacements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// Most bytes of a precompiled map; nmt_nfkc has about 240 000.
constexpr std::size_t kCharsmapBytesMax = 16'777'216;
/// Longest key in bytes that is searched; the longest of nmt_nfkc have 18.
constexpr std::size_t kCharsmapKeyBytesMax = 64;

/// Size limit after a precompiled map for a text of `bytes` bytes. NFKC turns the 3 bytes of U+FDFA
/// into 33, the largest real growth.
constexpr std::size_t charsmap_bytes_max(std::size_t bytes) { return 12 * bytes + 1024; }

/// A map as SentencePiece writes it: a double array of 32-bit units (darts-clone) and the
/// replacements, each ended by NUL. Immutable.
///
/// Source:  SentencePiece's normalizer.cc (PrefixMatcher, NormalizePrefix) and darts-clone's unit
///          format.
class Charsmap {
 public:
  /// An empty map, which leaves every text unchanged.
  Charsmap() = default;

  /// Reads a map's bytes; `file` is for error messages.
  ///
  /// Errors:  model_error for one that is cut, too long, or whose replacements do not end.
  static Charsmap parse(std::string_view bytes, std::string_view file);

  /// `text` with the replacement of the longest key at each place; an ill-formed byte becomes
  /// U+FFFD. It ends, and reads only inside the map, for any content of the map.
  ///
  /// Cost:    O(n * kCharsmapKeyBytesMax); with real maps a few steps a byte.
  /// Errors:  Error{kInvalid} when the result has more than `bytes_max` bytes.
  std::string normalize(std::string_view text, std::size_t bytes_max) const;

  bool empty() const { return units_.empty(); }

 private:
  struct Match {
    std::size_t size = 0;  // bytes of the key; 0: none
    std::size_t replacement = 0;
  };
  Match longest_key(std::string_view text) const;

  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

}  // namespace ingot
