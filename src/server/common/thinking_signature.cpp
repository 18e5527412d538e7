// Signs texts of reasoning, and seals them for clients.
#include "server/common/thinking_signature.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <optional>

#include "base/check.h"
#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "load/base64.h"

namespace ingot {

namespace {

constexpr std::size_t kNameBytes = 8;
constexpr std::size_t kMacBytes = SHA256_DIGEST_LENGTH;
constexpr std::size_t kTagBytes = kNameBytes + kMacBytes;
constexpr std::size_t kSumBytes = 8;
/// Length of a signature as base64.
constexpr std::size_t kTextBytes = (kTagBytes + kSumBytes) / 3 * 4;
static_assert((kTagBytes + kSumBytes) % 3 == 0);

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

/// The first 8 bytes of the SHA-256 of two texts.
std::string short_sum(std::string_view purpose, std::string_view data) {
  const std::string text = cat(purpose, data);
  std::array<unsigned char, SHA256_DIGEST_LENGTH> sum{};
  SHA256(bytes_of(text), text.size(), sum.data());
  return {reinterpret_cast<const char*>(sum.data()), kSumBytes};
}

std::string checksum(std::string_view tag) { return short_sum("ingot thinking signature:", tag); }

std::string encode_base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // OpenSSL appends a NUL
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), bytes_of(bytes),
                                   static_cast<int>(bytes.size()));
  text.resize(to_size(size));
  return text;
}

bool is_equal(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

ThinkingSigner::ThinkingSigner(const Key& key)
    : key_(key),
      key_name_(short_sum("ingot thinking key:",
                          {reinterpret_cast<const char*>(key.data()), key.size()})) {}

const ThinkingSigner& ThinkingSigner::of_process() {
  static const ThinkingSigner kSigner = [] {
    Key key{};
    if (RAND_bytes(key.data(), static_cast<int>(key.size())) != 1) {
      throw Error(ErrorCode::kInternal, "the system gives no random numbers");
    }
    return ThinkingSigner(key);
  }();
  return kSigner;
}

std::string ThinkingSigner::tag(std::string_view text) const {
  std::array<unsigned char, kMacBytes> mac{};
  unsigned int size = 0;
  HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()), bytes_of(text), text.size(),
       mac.data(), &size);
  INGOT_CHECK(size == kMacBytes, "HMAC-SHA-256 gave ", size, " bytes");
  return key_name_ + std::string(reinterpret_cast<const char*>(mac.data()), mac.size());
}

std::string ThinkingSigner::sign(std::string_view text) const {
  const std::string tagged = tag(text);
  return encode_base64(tagged + checksum(tagged));
}

SignatureCheck ThinkingSigner::check(std::string_view text, std::string_view signature) const {
  if (signature.size() != kTextBytes) return SignatureCheck::kWrong;
  const std::optional<std::string> bytes = decode_base64(signature);
  if (!bytes || bytes->size() != kTagBytes + kSumBytes) return SignatureCheck::kWrong;
  const std::string_view tagged = std::string_view(*bytes).substr(0, kTagBytes);
  if (!is_equal(bytes->substr(kTagBytes), checksum(tagged))) return SignatureCheck::kWrong;
  if (tagged.substr(0, kNameBytes) != key_name_) return SignatureCheck::kOtherProcess;
  return is_equal(tagged, tag(text)) ? SignatureCheck::kGenuine : SignatureCheck::kWrong;
}

std::string ThinkingSigner::seal(std::string_view text) const {
  return sign(text) + encode_base64(text);
}

std::optional<std::string> ThinkingSigner::unseal(std::string_view sealed) const {
  if (sealed.size() < kTextBytes) return std::nullopt;
  std::optional<std::string> text = decode_base64(sealed.substr(kTextBytes));
  if (!text || check(*text, sealed.substr(0, kTextBytes)) != SignatureCheck::kGenuine) {
    return std::nullopt;
  }
  return text;
}

}  // namespace ingot
