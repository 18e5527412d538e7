// ImportanceMatrix: how much an error in each matrix column matters, for quantisation.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "load/gguf/gguf_file.h"

namespace ingot {

/// Holds, for each column of each matrix, the mean square of the column's input over a text.
///
/// Files have one of two layouts. The GGUF layout, which `ingot imatrix` writes, has tensors
/// NAME.in_sum2 (sums of squares) and NAME.counts (numbers of rows). Its general.type is "imatrix".
/// The older layout is a list of entries. Each entry has a name, a number of calls, and values.
/// Source: llama.cpp, tools/imatrix, for both layouts.
class ImportanceMatrix {
 public:
  /// Reads a file of either layout. The file's first bytes tell which layout it has.
  ///
  /// Errors: model_error for the file; section "importance" for values that are negative or not
  ///         finite, and for sums and counts that contradict each other.
  static ImportanceMatrix read(const std::string& path);
  /// Parses the bytes of a file as `read` does. Error messages use `name` as the file's name.
  static ImportanceMatrix parse(std::span<const std::byte> bytes, const std::string& name);

  /// Returns a tensor's values, [experts, cols]; empty if the file has no such tensor. Ratios
  /// between values of one expert have a meaning. Values of two experts cannot be compared.
  std::span<const float> find(std::string_view tensor) const;
  /// Returns the number of tensors with values.
  std::size_t size() const { return values_.size(); }
  const std::string& name() const { return name_; }

 private:
  void take_gguf(const GgufFile& file);
  void take_old(std::span<const std::byte> bytes);

  std::string name_;
  std::map<std::string, std::vector<float>, std::less<>> values_;
};

/// Sums over a tensor's input rows, for each expert. A dense matrix counts as one expert.
struct InputSums {
  std::string tensor;  ///< the tensor's name in GGUF
  std::int64_t cols = 0;
  std::vector<double> squares;  ///< [experts, cols], sums of squared inputs
  std::vector<double> rows;     ///< [experts], number of input rows of each expert
};

/// Describes the measured text. The file of importance values stores this description.
struct ImportanceSource {
  std::string text;                 ///< name of the text file
  std::uint32_t windows = 0;        ///< number of windows into which the text is cut
  std::uint32_t window_tokens = 0;  ///< number of tokens in a window
};

/// Writes sums in the GGUF layout, rounded to float32.
///
/// Errors: those of OutputFile; kNotFinite naming the tensor if a sum is not finite as float32.
void write_importance(const std::string& path, std::span<const InputSums> sums,
                      const ImportanceSource& source);

}  // namespace ingot
