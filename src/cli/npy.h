// Reads and writes float32 matrices as NumPy's .npy files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/output_file.h"

namespace ingot {

/// A float32 matrix of `rows` x `cols` values, row after row.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<float> values;
};

/// Reads a two-dimensional little-endian float32 array in C order, format version 1 to 3.
///
/// Calls `expect` with the shape before it allocates or reads the values. `expect` may throw.
/// Errors: model_error(path, "npy", offset, reason) for any other file.
/// Source: NumPy's format specification (numpy.lib.format).
Matrix read_npy(const std::string& path,
                FunctionRef<void(std::int64_t rows, std::int64_t cols)> expect);

/// Returns the bytes before a matrix's values in a .npy file.
std::string npy_header(std::int64_t rows, std::int64_t cols);

/// Writes a matrix row by row. Call `finish` after the last row; the file appears only then.
class NpyWriter {
 public:
  NpyWriter(const std::string& path, std::int64_t rows, std::int64_t cols);
  void write(const float* values, std::int64_t count);
  void finish();

 private:
  OutputFile file_;
};

}  // namespace ingot
