// Recognises files that users open in place of a model: Git LFS pointers and importance matrices.
#pragma once

#include <string>
#include <string_view>

#include "base/file.h"

namespace ingot {

/// Refuses a Git LFS pointer: the small text that stands for a file which git did not download.
///
/// Errors: model_error(file, "file", reason). The reason says how to get the file.
/// Source: Git LFS, docs/spec.md: a pointer has less than 1,024 bytes and begins with its version.
void refuse_lfs_pointer(const File& file);

/// Opens a file of a model's folder. Errors: those of Directory::open and refuse_lfs_pointer.
File open_model_file(const Directory& folder, std::string_view name);

/// Refuses an importance matrix in the older binary layout: a count, and entries that begin with a
/// tensor's name.
///
/// Errors: model_error(file, "file", kImportanceReason).
/// Source: llama.cpp, tools/imatrix.
void refuse_old_importance(const File& file);

/// Says that a file is an importance matrix and what to do with it.
inline constexpr std::string_view kImportanceReason =
    "is an importance matrix, not a model: ingot quantize takes it with --imatrix";

}  // namespace ingot
