// SafetensorsWriter: writes safetensors files, with the tensors' data as a stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/output_file.h"
#include "load/json.h"

namespace ingot {

/// A tensor of a safetensors file to write.
struct SafetensorsEntry {
  std::string name;
  std::string dtype;                ///< "F32", "BF16"
  std::vector<std::int64_t> shape;  ///< outermost first (row-major)
  std::uint64_t bytes = 0;
};

/// Writes a safetensors file from front to back, so that no whole tensor must be in memory.
/// `commit` gives the file its name (see OutputFile).
///
/// Errors: kIo, from OutputFile. It is a bug to write more or fewer bytes than the entries say.
class SafetensorsWriter {
 public:
  /// Writes the header. The data of the tensors follows in the order of `entries`. `metadata`: an
  /// object of strings, or null for {"format": "pt"}, which transformers requires.
  SafetensorsWriter(const std::string& path, std::span<const SafetensorsEntry> entries,
                    const Json& metadata = {});

  /// Writes the next bytes of the tensors' data.
  void write(std::span<const std::byte> bytes);
  /// Completes the file and renames it to its path. All tensors must be complete.
  void commit();

 private:
  OutputFile file_;
  std::uint64_t left_ = 0;  ///< bytes of data still to write
};

}  // namespace ingot
