// Tests of the digests against the examples of their standard.
#include "hub/digest.h"

#include <gtest/gtest.h>

#include <string_view>

namespace ingot {
namespace {

std::string digest(DigestKind kind, std::string_view text, std::size_t piece = 1 << 20) {
  FileDigest running(kind);
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) {
    running.update(std::as_bytes(std::span(text.substr(0, piece))));
  }
  return running.finish();
}

constexpr std::string_view kLong =
    "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";  // 448 bits

// Source: NIST, "Secure Hashing: examples with intermediate values" (SHA1.pdf, SHA256.pdf); the
// empty text and the million letters: FIPS 180-2, appendix, and RFC 6234, section 8.5.
TEST(FileDigest, Sha256) {
  EXPECT_EQ(digest(DigestKind::kSha256, ""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest(DigestKind::kSha256, "abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest(DigestKind::kSha256, kLong),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(digest(DigestKind::kSha256, std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(FileDigest, Sha1) {
  EXPECT_EQ(digest(DigestKind::kSha1, ""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(digest(DigestKind::kSha1, "abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(digest(DigestKind::kSha1, kLong), "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  EXPECT_EQ(digest(DigestKind::kSha1, std::string(1'000'000, 'a')),
            "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

// What `git hash-object` prints for a file of "hello\n".
TEST(FileDigest, GitsBlob) {
  using namespace std::string_literals;
  EXPECT_EQ(digest(DigestKind::kSha1, "blob 6\0hello\n"s),
            "ce013625030ba8dba906f756967f9e9ca394464a");
}

TEST(FileDigest, PiecesDoNotMatter) {
  const std::string text(300, 'x');
  for (const DigestKind kind : {DigestKind::kSha1, DigestKind::kSha256}) {
    // Every length around one and two blocks, cut every way.
    for (std::size_t size = 0; size <= 140; ++size) {
      const std::string whole = digest(kind, text.substr(0, size));
      for (std::size_t piece = 1; piece <= 70; ++piece) {
        ASSERT_EQ(digest(kind, text.substr(0, size), piece), whole) << size << " " << piece;
      }
    }
  }
}

}  // namespace
}  // namespace ingot
