// GgufKeys: reads typed values from GGUF metadata, and records which keys were read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "load/gguf/gguf_file.h"
#include "load/json.h"

namespace ingot {

/// The type of an entry for messages: "uint32", "array of string".
std::string gguf_type_name(const GgufEntry& entry);

/// The value of an entry for display. Long texts are cut; a long array is "[string x 32000]".
Json gguf_json(const GgufEntry& entry);

/// Reads values by key and remembers which keys were read.
///
/// Every function returns nothing for an absent key. A value of another type is refused, as in
/// llama.cpp, because a conversion would be a guess.
///
/// Errors: model_error(file, "metadata", offset of the value, reason) that names the key.
class GgufKeys {
 public:
  explicit GgufKeys(const GgufFile& file) : file_(&file), asked_(file.entries.size(), false) {}

  const GgufFile& file() const { return *file_; }

  std::optional<std::int64_t> uint16(std::string_view key);
  std::optional<std::int64_t> uint32(std::string_view key);
  std::optional<std::int64_t> int32(std::string_view key);
  /// The value of the key, which must be a finite number.
  std::optional<double> float32(std::string_view key);
  std::optional<bool> boolean(std::string_view key);
  std::optional<std::string_view> text(std::string_view key);
  /// The entry with this key, whose value must be an array of `element`; null if it is absent.
  const GgufEntry* array(std::string_view key, GgufType element);
  /// The entry with this key, of any type; null if it is absent.
  const GgufEntry* any(std::string_view key);

  /// Entries with keys that begin with `prefix` and were not read, in file order.
  std::vector<const GgufEntry*> unread(std::string_view prefix) const;

  /// Throws an error about the value of a key: "llama.block_count = 0 must be 1 to 512".
  [[noreturn]] void refuse(std::string_view key, std::string_view reason) const;
  /// Throws an error about the file: a key is missing, or keys contradict each other.
  [[noreturn]] void fail(std::string_view reason) const;

 private:
  const GgufEntry* typed(std::string_view key, GgufType type);
  template <class T>
  std::optional<T> number(std::string_view key, GgufType type);
  [[noreturn]] void wrong_type(const GgufEntry& entry, std::string_view expected) const;

  const GgufFile* file_;
  std::vector<bool> asked_;
};

}  // namespace ingot
