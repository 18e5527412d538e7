// ArchitectureKeys: reads an architecture's keys ("llama.block_count") by the part after the point.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "load/gguf/gguf_metadata.h"

namespace ingot {

/// Reads keys of one architecture, and checks that values lie within bounds.
///
/// Functions with `std::optional` or a vector return nothing if the key is absent.
/// Errors: those of GgufKeys; a value outside its bounds.
class ArchitectureKeys {
 public:
  ArchitectureKeys(GgufKeys& keys, std::string_view architecture)
      : keys_(&keys), architecture_(architecture) {}

  GgufKeys& all() const { return *keys_; }
  /// Returns the whole key: "llama.block_count" for "block_count".
  std::string key(std::string_view rest) const;

  std::optional<std::int64_t> integer(std::string_view rest, std::int64_t min,
                                      std::int64_t max) const;
  std::int64_t required(std::string_view rest, std::int64_t min, std::int64_t max) const;
  std::optional<double> number(std::string_view rest) const;
  std::optional<double> positive(std::string_view rest) const;
  std::optional<bool> flag(std::string_view rest) const;
  std::optional<std::string_view> text(std::string_view rest) const;
  /// Returns whether the value is an array.
  bool is_list(std::string_view rest) const;
  /// Returns [blocks] values: those of an array, or one number for all blocks. Empty: key absent.
  std::vector<std::int64_t> per_block(std::string_view rest, std::int64_t blocks, std::int64_t min,
                                      std::int64_t max) const;
  /// Returns an array of `blocks` flags. Empty: key absent.
  std::vector<bool> flags(std::string_view rest, std::int64_t blocks) const;

  [[noreturn]] void refuse(std::string_view rest, std::string_view reason) const;
  [[noreturn]] void missing(std::string_view rest) const;

 private:
  const GgufEntry& list(std::string_view rest, GgufType element, std::int64_t blocks) const;

  GgufKeys* keys_;
  std::string architecture_;
};

}  // namespace ingot
