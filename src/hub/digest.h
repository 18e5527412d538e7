// FileDigest: SHA-1 and SHA-256 over bytes that arrive in pieces.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ingot {

/// The hash function of a digest.
enum class DigestKind { kSha1, kSha256 };

/// A running digest.
///
/// Source: FIPS 180-4.
class FileDigest {
 public:
  explicit FileDigest(DigestKind kind);

  void update(std::span<const std::byte> bytes);
  /// The digest in lower-case hexadecimal digits. Call it once, at the end.
  std::string finish();

 private:
  static constexpr std::size_t kBlockBytes = 64;

  void compress(const std::byte* block);

  DigestKind kind_;
  std::array<std::uint32_t, 8> state_{};
  std::array<std::byte, kBlockBytes> block_{};
  std::size_t used_ = 0;     ///< bytes in block_
  std::uint64_t bytes_ = 0;  ///< so far
};

}  // namespace ingot
