// ThinkingSigner: signs reasoning, so that reasoning that comes back is known to be genuine.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ingot {

/// What a signature says about a text.
enum class SignatureCheck {
  kGenuine,       ///< this signer signed the text
  kOtherProcess,  ///< a signer with another key signed a text, such as this server before a restart
  kWrong,         ///< neither
};

/// Signs texts with a secret key. Immutable.
///
/// A signature is base64 of three parts: 8 bytes that name the key, the HMAC-SHA-256 of the text,
/// and 8 bytes of a SHA-256 over both. The last part tells a signature of another key from a
/// damaged one. It is no secret, so kOtherProcess proves nothing about the text.
class ThinkingSigner {
 public:
  using Key = std::array<std::uint8_t, 32>;

  explicit ThinkingSigner(const Key& key);
  /// Returns the signer of this process, which has a random key. Errors: Error{kInternal} if the
  /// system gives no random numbers.
  static const ThinkingSigner& of_process();

  std::string sign(std::string_view text) const;
  SignatureCheck check(std::string_view text, std::string_view signature) const;

  /// Returns base64 that holds `text` behind its signature. It is no secret.
  std::string seal(std::string_view text) const;
  /// Returns the text in the result of `seal`; nothing if this signer did not make it.
  std::optional<std::string> unseal(std::string_view sealed) const;

 private:
  /// Returns the first two parts of the signature.
  std::string tag(std::string_view text) const;

  Key key_;
  std::string key_name_;
};

}  // namespace ingot
