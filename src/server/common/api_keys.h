// ApiKeys: the keys with which clients may use the server.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// The keys that give access to the server, as digests.
class ApiKeys {
 public:
  static constexpr std::size_t kBytesMin = 16;
  static constexpr std::size_t kKeysMax = 1024;

  /// Without keys every client has access.
  ApiKeys() = default;
  /// The keys in a text, as `add` reads them.
  ApiKeys(std::string_view text, const std::string& source) { add(text, source); }

  /// Reads one key per line, "id:key" or a key alone; empty lines and lines that begin with "#" are
  /// skipped. Messages call the text `source`.
  ///
  /// Errors: Error{kInvalid} naming the line, never the key.
  void add(std::string_view text, const std::string& source);

  bool is_empty() const { return keys_.empty(); }
  std::size_t size() const { return keys_.size(); }
  /// The number of a presented key, from 1; nothing for an unknown key. Takes equal time for all
  /// keys of one length.
  std::optional<std::size_t> find(std::string_view key) const;
  /// The name of a key for logs.
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

/// Reads the keys of a file that only its owner can read.
///
/// Errors: Error{kInvalid} naming the file and what is wrong with it or its mode.
ApiKeys read_api_keys(const std::string& path);

}  // namespace ingot
