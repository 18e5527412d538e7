// ApiKeys: reads API keys, and checks the key that a client presents.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// The valid API keys, stored as SHA-256 digests.
class ApiKeys {
 public:
  static constexpr std::size_t kBytesMin = 16;
  static constexpr std::size_t kKeysMax = 1024;

  /// Makes an object without keys: every client has access.
  ApiKeys() = default;
  /// Reads the keys in `text`; see `add`.
  ApiKeys(std::string_view text, const std::string& source) { add(text, source); }

  /// Adds the keys in `text`, one per line: "id:key" or "key". Skips empty lines and lines that
  /// begin with "#". Errors name `source` as the origin of the text.
  ///
  /// Errors: Error{kInvalid} with the line's number, never with the key.
  void add(std::string_view text, const std::string& source);

  bool is_empty() const { return keys_.empty(); }
  std::size_t size() const { return keys_.size(); }
  /// Returns the number of a key, from 1; nothing if the key is unknown. The search takes equal
  /// time for keys of equal length, so that timing reveals no key.
  std::optional<std::size_t> find(std::string_view key) const;
  /// Returns the id of key `number`, for logs.
  const std::string& id(std::size_t number) const { return keys_[number - 1].id; }

 private:
  using Digest = std::array<std::uint8_t, 32>;
  struct Key {
    std::string id;
    Digest digest;
  };
  static Digest digest(std::string_view key);

  std::vector<Key> keys_;
};

/// Reads API keys from a file. Only the file's owner may have access to it.
///
/// Errors: Error{kInvalid} with the file's name and the reason.
ApiKeys read_api_keys(const std::string& path);

}  // namespace ingot
