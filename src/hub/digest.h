// FileDigest: SHA-1 and SHA-256 checksums of streamed bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ingot {

/// The hash function of a digest.
enum class DigestKind { kSha1, kSha256 };

/// Computes a digest of bytes that arrive in pieces.
///
/// Source: FIPS 180-4.
class FileDigest {
 public:
  explicit FileDigest(DigestKind kind);

  void update(std::span<const std::byte> bytes);
  /// The digest in lower-case hexadecimal digits. Call it once, behind the last `update`.
  std::string finish();

 private:
  static constexpr std::size_t kBlockBytes = 64;

  void compress(const std::byte* block);

  DigestKind kind_;
  std::array<std::uint32_t, 8> state_{};
  std::array<std::byte, kBlockBytes> block_{};
  std::size_t used_ = 0;     ///< bytes in block_
  std::uint64_t bytes_ = 0;  ///< bytes added so far
};

}  // namespace ingot
