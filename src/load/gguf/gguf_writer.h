// GgufWriter: writes GGUF files, with the tensors' data as a stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/output_file.h"
#include "base/view.h"
#include "load/gguf/gguf_file.h"
#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// The metadata of a GGUF file to write, in order. A key that is set again keeps its place.
class GgufValues {
 public:
  void set_uint32(std::string_view key, std::uint32_t value);
  void set_int32(std::string_view key, std::int32_t value);
  void set_float32(std::string_view key, float value);
  void set_boolean(std::string_view key, bool value);
  void set_text(std::string_view key, std::string_view value);
  void set_texts(std::string_view key, const StringTable& values);
  void set_floats(std::string_view key, std::span<const float> values);
  void set_ints(std::string_view key, std::span<const std::int32_t> values);
  void set_counts(std::string_view key, std::span<const std::uint32_t> values);
  void set_booleans(std::string_view key, const std::vector<bool>& values);
  void set_bytes(std::string_view key, std::string_view bytes);
  /// Appends a byte-for-byte copy of an entry of another file. The key must be new.
  void add(const GgufEntry& entry);
  void remove(std::string_view key);

  std::size_t size() const { return entries_.size(); }
  /// Returns the encoded key-value pairs.
  std::string bytes() const;
  /// Returns the bytes of a GGUF file with this metadata and no tensors.
  std::string file() const;

 private:
  std::string& value(std::string_view key);

  /// Pairs of a key and the key's encoded type and value.
  std::vector<std::pair<std::string, std::string>> entries_;
};

/// An entry of the tensor table in a GGUF file.
struct GgufTensor {
  std::string name;
  std::vector<std::int64_t> shape;  ///< 1 to 4 sizes, outermost first (row-major)
  Format format{};

  std::uint64_t bytes() const;
};

/// Writes a GGUF file of version 3 from front to back, so that no whole tensor must be in memory.
/// `commit` gives the file its name (see OutputFile).
///
/// Errors: kIo, from OutputFile; kInvalid if `parse_gguf` would refuse the number of keys, the
///         number of tensors, or the bytes of metadata. It is a bug to write more or fewer bytes
///         than the tensor table says, or to give names or shapes that `parse_gguf` refuses.
/// Source: the GGUF specification (ggml, docs/gguf.md), version 3.
class GgufWriter {
 public:
  /// Writes header, `values` and tensor table. `alignment` must equal the key general.alignment of
  /// `values`, or 32 if this key is absent.
  GgufWriter(const std::string& path, const GgufValues& values, std::vector<GgufTensor> tensors,
             std::uint32_t alignment = kAlignment);

  /// Writes the next bytes of tensor data. The tensors have the order of the tensor table. Each
  /// call writes bytes of only one tensor. Adds the padding after each tensor.
  void write(std::span<const std::byte> bytes);
  /// Completes the file and renames it to its path. All tensors must be complete.
  void commit();

  static constexpr std::uint32_t kAlignment = 32;

 private:
  void pad();

  OutputFile file_;
  std::vector<GgufTensor> tensors_;
  std::uint32_t alignment_;
  std::uint64_t at_ = 0;    ///< number of bytes written so far
  std::size_t tensor_ = 0;  ///< index of the current tensor
  std::uint64_t left_ = 0;  ///< number of bytes of the current tensor still to write
};

}  // namespace ingot
