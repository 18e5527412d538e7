// API keys: who may use the server.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// The keys that open the server, as digests.
class ApiKeys {
 public:
  static constexpr std::size_t kBytesMin = 16;
  static constexpr std::size_t kKeysMax = 1024;

  /// Without keys everybody may do everything.
  ApiKeys() = default;
  /// Of what `add` takes.
  ApiKeys(std::string_view text, const std::string& source) { add(text, source); }

  /// One key a line, "id:key" or a key alone; empty lines and those that begin with "#" are
  /// skipped. `source` is what messages call the text.
  ///
  /// Errors: Error{kInvalid} naming the line, never the key.
  void add(std::string_view text, const std::string& source);

  bool is_empty() const { return keys_.empty(); }
  std::size_t size() const { return keys_.size(); }
  /// Number of the key that was presented, from 1; nothing where it is none. Takes the same time
  /// for all of one length.
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

/// Reads the keys of a file, which only its owner may be able to read.
///
/// Errors: Error{kInvalid} naming the file and what is wrong with it or its mode.
ApiKeys read_api_keys(const std::string& path);

}  // namespace ingot
