// Writes GGUF files: metadata, tensor table, and the tensors' data as a stream.
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

/// Keys and values for a GGUF file, in order. A key that is set again keeps its place.
class GgufValues {
 public:
  void set_uint32(std::string_view key, std::uint32_t value);
  void set_float32(std::string_view key, float value);
  void set_boolean(std::string_view key, bool value);
  void set_text(std::string_view key, std::string_view value);
  void set_texts(std::string_view key, const StringTable& values);
  void set_floats(std::string_view key, std::span<const float> values);
  void set_ints(std::string_view key, std::span<const std::int32_t> values);
  /// Copies a pair of another file byte for byte; the key must be new.
  void add(const GgufEntry& entry);
  void remove(std::string_view key);

  std::size_t size() const { return entries_.size(); }
  /// The pairs, encoded.
  std::string bytes() const;
  /// A file that holds the pairs and no tensors.
  std::string file() const;

 private:
  std::string& value(std::string_view key);

  /// Key and encoded value with its type.
  std::vector<std::pair<std::string, std::string>> entries_;
};

/// One tensor's line of the tensor table.
struct GgufTensor {
  std::string name;
  std::vector<std::int64_t> shape;  ///< row-major, outermost first; 1 to 4 sizes
  Format format{};

  std::uint64_t bytes() const;
};

/// Writes a GGUF file of version 3 front to back; no tensor has to be whole in memory. `commit`
/// gives the file its name (see OutputFile).
///
/// Errors: kIo, those of OutputFile; kInvalid for more keys, tensors or metadata than a reader
/// accepts
///         (gguf_file.h). More or fewer bytes than the table says are bugs, and so are names and
///         shapes that a reader would refuse.
/// Source: the GGUF specification (ggml, docs/gguf.md), version 3.
class GgufWriter {
 public:
  /// Writes header, `values` and tensor table. `alignment` must equal general.alignment in
  /// `values`, or be 32 when `values` has no such key.
  GgufWriter(const std::string& path, const GgufValues& values, std::vector<GgufTensor> tensors,
             std::uint32_t alignment = kAlignment);

  /// The next bytes of the data, tensors in the order of the table; none may cross its tensor's
  /// end. Padding is added here.
  void write(std::span<const std::byte> bytes);
  /// All bytes are written: the file gets its name.
  void commit();

  static constexpr std::uint32_t kAlignment = 32;

 private:
  void pad();

  OutputFile file_;
  std::vector<GgufTensor> tensors_;
  std::uint32_t alignment_;
  std::uint64_t at_ = 0;    ///< bytes written
  std::size_t tensor_ = 0;  ///< the tensor being written
  std::uint64_t left_ = 0;  ///< its bytes still to write
};

}  // namespace ingot
