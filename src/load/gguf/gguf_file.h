// Parses one GGUF file: header, metadata entries and tensor table, without interpreting the keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "load/checkpoint.h"

namespace ingot {

/// The type of a metadata value, with GGUF's number for each type.
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

/// A metadata key and its value. Both are views of the file's bytes.
struct GgufEntry {
  std::string_view key;
  GgufType type{};
  GgufType element{};               ///< element type of an array; for other values, equal to `type`
  std::uint64_t count = 1;          ///< number of elements of an array; for other values, 1
  std::span<const std::byte> data;  ///< bytes of a scalar, a string's text, or an array's elements
  std::uint64_t offset = 0;         ///< byte of the file at which the value begins, for messages

  bool is_array() const { return type == GgufType::kArray; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(data.data()), data.size()};
  }
  /// Returns element `i` of an array of T, or the scalar of type T.
  template <class T>
  T number(std::uint64_t i = 0) const {
    T value;
    __builtin_memcpy(&value, data.subspan(i * sizeof(T), sizeof(T)).data(), sizeof(T));
    return value;
  }
  /// Calls `fn(std::string_view)` for each element of an array of strings.
  template <class Fn>
  void for_each_string(Fn&& fn) const {
    ByteReader reader(data, {});
    for (std::uint64_t i = 0; i < count; ++i) fn(reader.text(reader.read<std::uint64_t>()));
  }
};

/// A parsed GGUF file. Counts, lengths, types and names are valid. The tensors cover the data
/// section without gaps. All views point into the parsed bytes.
struct GgufFile {
  std::string name;
  std::uint32_t version = 0;
  std::uint64_t metadata_begin = 0;   ///< byte at which the first key begins, for messages
  std::vector<GgufEntry> entries;     ///< metadata entries, in file order
  std::vector<std::uint32_t> by_key;  ///< indices of `entries`, sorted by key
  std::vector<TensorInfo> tensors;    ///< all tensors, in the order of their data
  std::uint64_t trailing_bytes = 0;   ///< bytes behind the last tensor that are no padding; ignored

  /// Returns the entry with this key, or null.
  const GgufEntry* find(std::string_view key) const;
};

/// Limits on accepted files, far above real files. They limit time and memory for hostile files.
/// Units: kGgufArrayMax, kGgufEntriesMax and kGgufTensorsMax are counts; all others are bytes.
inline constexpr std::uint64_t kGgufHeadMax = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kGgufStringMax = std::uint64_t{16} << 20;
inline constexpr std::uint64_t kGgufKeyMax = std::uint64_t{64} << 10;
inline constexpr std::uint64_t kGgufNameMax = 255;
inline constexpr std::uint64_t kGgufArrayMax = std::uint64_t{16} << 20;
inline constexpr std::uint64_t kGgufEntriesMax = 65536;
inline constexpr std::uint64_t kGgufTensorsMax = 65536;
inline constexpr std::uint64_t kGgufTrailingMax = std::uint64_t{64} << 20;
inline constexpr std::uint32_t kGgufAlignmentMin = 8;
inline constexpr std::uint32_t kGgufAlignmentMax = 65536;

/// Parses GGUF version 2 or 3, little-endian. Time and memory are linear in the size of `bytes`.
///
/// Errors: model_error(name, "header" | "metadata" | "tensor table" | "data", offset, reason).
/// Source: the GGUF specification (ggml, docs/gguf.md), versions 2 and 3.
GgufFile parse_gguf(std::span<const std::byte> bytes, const std::string& name);

/// Returns the text of a key, from the first bytes of a file of `file_bytes` bytes: a cheap look at
/// a large file. Returns nothing if these bytes do not show it. The result points into them.
///
/// Errors: those of parse_gguf about the header.
std::optional<std::string_view> find_gguf_text(std::span<const std::byte> beginning,
                                               std::uint64_t file_bytes, const std::string& name,
                                               std::string_view key);

}  // namespace ingot
