// FileDigest: SHA-1 and SHA-256 checksums of streamed bytes.
#pragma once

#include <openssl/evp.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace ingot {

/// The hash function of a digest.
enum class DigestKind { kSha1, kSha256 };

/// Computes a digest of bytes that arrive in pieces.
class FileDigest {
 public:
  /// Starts a digest. Errors: Error{kInternal} if libcrypto does not offer the hash function.
  explicit FileDigest(DigestKind kind);

  void update(std::span<const std::byte> bytes);
  /// Returns the digest in lower-case hexadecimal. Call `finish` once, after the last `update`.
  std::string finish();

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context_;
};

}  // namespace ingot
