// GgufKeys: reads typed values from GGUF metadata, and records which keys were read.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "load/gguf/gguf_file.h"
#include "load/json.h"

namespace ingot {

/// Returns the name of an entry's type for messages: "uint32", "array of string".
std::string gguf_type_name(const GgufEntry& entry);

/// Returns an entry's value for display. Cuts long texts; a long array becomes "[string x 32000]".
Json gguf_json(const GgufEntry& entry);

/// Reads values by key and remembers which keys were read.
///
/// Each function returns nothing or null if the key is absent. A value of another type is an error,
/// as in llama.cpp, because a conversion would be a guess.
///
/// Errors: model_error(file, "metadata", offset of the value, reason) that names the key.
class GgufKeys {
 public:
  using KeySet = std::set<std::string, std::less<>>;

  /// `wanted`: gets all keys that are looked for, also keys that the file lacks. For tests, which
  /// damage each of them; null: the keys are not collected.
  explicit GgufKeys(const GgufFile& file, KeySet* wanted = nullptr)
      : file_(&file), asked_(file.entries.size(), false), wanted_(wanted) {}

  const GgufFile& file() const { return *file_; }

  std::optional<std::int64_t> uint16(std::string_view key);
  std::optional<std::int64_t> uint32(std::string_view key);
  std::optional<std::int64_t> int32(std::string_view key);
  /// Returns the float32 value of the key. NaN and infinities are errors.
  std::optional<double> float32(std::string_view key);
  std::optional<bool> boolean(std::string_view key);
  std::optional<std::string_view> text(std::string_view key);
  /// Returns the entry with this key, which must be an array of `element`; null if it is absent.
  const GgufEntry* array(std::string_view key, GgufType element);
  /// Returns the entry with this key, whatever its type; null if it is absent.
  const GgufEntry* any(std::string_view key);

  /// Returns whether the file has the key, and nothing has read it.
  bool is_unread(std::string_view key) const;
  /// Returns the entries whose keys begin with `prefix` and were not read, in file order.
  std::vector<const GgufEntry*> unread(std::string_view prefix) const;

  /// Returns a short form of a key's value for a message; empty if the key is absent.
  std::string shown(std::string_view key) const;
  /// Throws an error about the value of a key: "llama.block_count = 0 must be 1 to 512".
  [[noreturn]] void refuse(std::string_view key, std::string_view reason) const;
  /// Throws an error about the whole file: a key is missing, or keys contradict each other.
  [[noreturn]] void fail(std::string_view reason) const;

 private:
  const GgufEntry* find(std::string_view key) const;
  const GgufEntry* typed(std::string_view key, GgufType type);
  template <class T>
  std::optional<T> number(std::string_view key, GgufType type);
  [[noreturn]] void wrong_type(const GgufEntry& entry, std::string_view expected) const;

  const GgufFile* file_;
  std::vector<bool> asked_;
  KeySet* wanted_;
};

}  // namespace ingot
