// Charsmap: SentencePiece's precompiled normalisation map, which replaces characters in a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// Limit on the bytes of a precompiled map. The common map, nmt_nfkc, has about 240,000 bytes.
constexpr std::size_t kCharsmapBytesMax = 16'777'216;
/// Limit on the bytes of a key; longer keys never match. The longest key of nmt_nfkc has 18 bytes.
constexpr std::size_t kCharsmapKeyBytesMax = 64;

/// Returns the most bytes that a precompiled map may make from a text of `bytes` bytes. NFKC makes
/// a text at most 11 times as long: U+FDFA grows from 3 bytes to 33.
constexpr std::size_t charsmap_bytes_max(std::size_t bytes) { return 12 * bytes + 1024; }

/// A map in SentencePiece's format. Its keys form a double-array trie of 32-bit units
/// (darts-clone). Each replacement ends with NUL. Immutable.
///
/// Source:  SentencePiece's normalizer.cc (PrefixMatcher, NormalizePrefix) and darts-clone's unit
///          format.
class Charsmap {
 public:
  /// Makes an empty map, which leaves every text unchanged.
  Charsmap() = default;

  /// Parses a map from its bytes. Error messages name `file`.
  ///
  /// Errors:  model_error if the map is truncated or too long, or if its last byte is not NUL.
  static Charsmap parse(std::string_view bytes, std::string_view file);

  /// Returns `text` with the longest key at each place replaced. An ill-formed byte becomes U+FFFD.
  /// A malformed map is safe: the function reads only inside the map, and always ends.
  ///
  /// Cost:    O(n * kCharsmapKeyBytesMax) for n bytes; real maps need a few steps per byte.
  /// Errors:  Error{kInvalid} if the result has more than `bytes_max` bytes.
  std::string normalize(std::string_view text, std::size_t bytes_max) const;

  bool empty() const { return units_.empty(); }

 private:
  struct Match {
    std::size_t size = 0;  // size of the longest matching key in bytes; 0: no key matches
    std::size_t replacement = 0;
  };
  Match longest_key(std::string_view text) const;

  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

}  // namespace ingot
