// Charsmap: SentencePiece's precompiled normalisation map, which replaces characters in a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// Limit on the bytes of a precompiled map. The common map, nmt_nfkc, has about 240,000.
constexpr std::size_t kCharsmapBytesMax = 16'777'216;
/// Limit on the bytes of a key: longer keys never match. The longest key of nmt_nfkc has 18 bytes.
constexpr std::size_t kCharsmapKeyBytesMax = 64;

/// Limit on the size that a precompiled map may give to a text of `bytes` bytes. In NFKC, U+FDFA
/// grows most: from 3 bytes to 33.
constexpr std::size_t charsmap_bytes_max(std::size_t bytes) { return 12 * bytes + 1024; }

/// A map in SentencePiece's format: the keys as a double-array trie of 32-bit units (darts-clone),
/// and the replacements, each ended by NUL. Immutable.
///
/// Source:  SentencePiece's normalizer.cc (PrefixMatcher, NormalizePrefix) and darts-clone's unit
///          format.
class Charsmap {
 public:
  /// An empty map, which leaves every text unchanged.
  Charsmap() = default;

  /// Reads a map from its bytes; `file` is for error messages.
  ///
  /// Errors:  model_error if the map is cut short or too long, or if a replacement has no end.
  static Charsmap parse(std::string_view bytes, std::string_view file);

  /// Replaces the longest key at each place of `text`. An ill-formed byte becomes U+FFFD. A
  /// malformed map is safe too: this function reads only inside the map, and ends.
  ///
  /// Cost:    O(n * kCharsmapKeyBytesMax); with real maps a few steps per byte.
  /// Errors:  Error{kInvalid} if the result has more than `bytes_max` bytes.
  std::string normalize(std::string_view text, std::size_t bytes_max) const;

  bool empty() const { return units_.empty(); }

 private:
  struct Match {
    std::size_t size = 0;  // bytes of the key; 0: no key matches
    std::size_t replacement = 0;
  };
  Match longest_key(std::string_view text) const;

  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

}  // namespace ingot
