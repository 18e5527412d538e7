// SHA-1 and SHA-256 by libcrypto.
#include "hub/digest.h"

#include "base/error.h"

namespace ingot {

namespace {

/// `result` is libcrypto's: 1 for success.
void expect_success(int result) {
  if (result != 1) throw Error(ErrorCode::kInternal, "libcrypto cannot compute a checksum");
}

}  // namespace

FileDigest::FileDigest(DigestKind kind) : context_(EVP_MD_CTX_new()) {
  const EVP_MD* hash = kind == DigestKind::kSha1 ? EVP_sha1() : EVP_sha256();
  expect_success(EVP_DigestInit_ex(context_.get(), hash, nullptr));
}

void FileDigest::update(std::span<const std::byte> bytes) {
  expect_success(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()));
}

std::string FileDigest::finish() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int bytes = 0;
  expect_success(EVP_DigestFinal_ex(context_.get(), digest, &bytes));
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : std::span(digest, bytes)) {
    text += {kHex[byte >> 4], kHex[byte & 15]};
  }
  return text;
}

}  // namespace ingot
