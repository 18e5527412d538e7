// ImportanceMatrix: a factor for the squared error of each column of a model's matrices.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "load/gguf/gguf_file.h"

namespace ingot {

/// The mean square of the inputs of each column of each matrix, over a text.
///
/// Files: the GGUF layout (tensors NAME.in_sum2 of sums and NAME.counts of rows, general.type
/// "imatrix"), which `ingot imatrix` writes, and the older one (a count of entries; each a name, a
/// number of calls, and values).
/// Source: both are llama.cpp's, tools/imatrix.
class ImportanceMatrix {
 public:
  /// Reads either layout, recognised by content.
  ///
  /// Errors: model_error for the file; section "importance" for wrong values in a right form:
  ///         negative, not finite, sums and counts that contradict each other.
  static ImportanceMatrix read(const std::string& path);
  /// Reads the bytes of a file as `read` does; `name` is for messages.
  static ImportanceMatrix parse(std::span<const std::byte> bytes, const std::string& name);

  /// The values for a tensor, [experts, cols]; empty when the file has none for it. Only their
  /// proportions within an expert have a meaning.
  std::span<const float> find(std::string_view tensor) const;
  /// Tensors with values.
  std::size_t size() const { return values_.size(); }
  const std::string& name() const { return name_; }

 private:
  void take_gguf(const GgufFile& file);
  void take_old(std::span<const std::byte> bytes);

  std::string name_;
  std::map<std::string, std::vector<float>, std::less<>> values_;
};

/// Sums over the input rows of a tensor's experts; a dense matrix counts as one expert.
struct InputSums {
  std::string tensor;  ///< GGUF's name
  std::int64_t cols = 0;
  std::vector<double> squares;  ///< [experts, cols]
  std::vector<double> rows;     ///< [experts], input rows
};

/// The origin of sums, which the file states.
struct ImportanceSource {
  std::string text;  ///< name of the text file
  std::uint32_t windows = 0;
  std::uint32_t window_tokens = 0;
};

/// Writes sums in the GGUF layout; they are rounded to float32.
///
/// Errors: those of OutputFile; kNotFinite naming the tensor when a sum is not finite as float32.
void write_importance(const std::string& path, std::span<const InputSums> sums,
                      const ImportanceSource& source);

}  // namespace ingot
