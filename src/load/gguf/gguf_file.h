// The structure of one GGUF file, checked against its bytes; other files give it meaning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "load/checkpoint.h"

namespace ingot {

/// The type of a metadata value, as the file numbers it.
enum class GgufType : std::uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};

/// One key and its value as views of the file; a value is decoded when it is read.
struct GgufEntry {
  std::string_view key;
  GgufType type{};
  GgufType element{};               ///< the type of an array's elements, else `type`
  std::uint64_t count = 1;          ///< elements of an array
  std::span<const std::byte> data;  ///< a scalar, the text of a string, or all elements as stored
  std::uint64_t offset = 0;         ///< where the value begins in its file, for messages

  bool is_array() const { return type == GgufType::kArray; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(data.data()), data.size()};
  }
  /// Element `i` (0 for a scalar), read as T, which must be its type.
  template <class T>
  T number(std::uint64_t i = 0) const {
    T value;
    __builtin_memcpy(&value, data.subspan(i * sizeof(T), sizeof(T)).data(), sizeof(T));
    return value;
  }
  /// Calls fn(std::string_view) for each element of an array of strings.
  template <class Fn>
  void for_each_string(Fn&& fn) const {
    ByteReader reader(data, {});
    for (std::uint64_t i = 0; i < count; ++i) fn(reader.text(reader.read<std::uint64_t>()));
  }
};

/// A file that passed every check of form: counts, lengths, types, names, and tensors that cover
/// the data section exactly. All views point into the parsed bytes.
struct GgufFile {
  std::string name;
  std::uint32_t version = 0;
  std::uint64_t metadata_begin = 0;   ///< where the first key begins, for messages
  std::vector<GgufEntry> entries;     ///< in the order of the file
  std::vector<std::uint32_t> by_key;  ///< indices of `entries`, sorted by key
  std::vector<TensorInfo> tensors;    ///< in the order of the file, which is the order of the data

  /// The entry of that key, or null.
  const GgufEntry* find(std::string_view key) const;
};

/// Limits on accepted files, far above real ones; they bound time and memory for hostile files.
/// In bytes, except counts of array elements, entries and tensors.
inline constexpr std::uint64_t kGgufHeadMax = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kGgufStringMax = std::uint64_t{16} << 20;
inline constexpr std::uint64_t kGgufKeyMax = std::uint64_t{64} << 10;
inline constexpr std::uint64_t kGgufNameMax = 255;
inline constexpr std::uint64_t kGgufArrayMax = std::uint64_t{16} << 20;
inline constexpr std::uint64_t kGgufEntriesMax = 65536;
inline constexpr std::uint64_t kGgufTensorsMax = 65536;
inline constexpr std::uint32_t kGgufAlignmentMin = 8;
inline constexpr std::uint32_t kGgufAlignmentMax = 65536;

/// Parses GGUF version 2 or 3, little-endian. Time and memory are linear in the size of `bytes`.
///
/// Errors: model_error(name, "header" | "metadata" | "tensor table" | "data", offset, reason).
/// Source: the GGUF specification (ggml, docs/gguf.md), versions 2 and 3.
GgufFile parse_gguf(std::span<const std::byte> bytes, const std::string& name);

}  // namespace ingot
