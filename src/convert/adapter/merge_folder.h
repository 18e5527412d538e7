// write_merged_folder: writes a Hugging Face folder whose weights have an adapter's changes.
#pragma once

#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "convert/adapter/adapter_changes.h"
#include "convert/quantise.h"
#include "load/checkpoint.h"

namespace ingot {

/// Writes the folder atomically, some megabytes of a tensor at a time. Files, names and types of
/// tensors stay. Bytes that the adapter does not change stay, and so do configuration and
/// tokenizer. If the adapter separates the head from the embedding, the head becomes a tensor
/// beside the embedding, and config.json says so. `folder`: the path of the checkpoint's folder.
///
/// Returns a report of each tensor that changed.
/// Errors: kInvalid if there is something at `out`; model_error for a tensor of a type that folders
///         or ingot cannot write, or for a weight that is not finite; kIo if a file cannot be
///         written, or if the checkpoint changes meanwhile.
std::vector<TensorReport> write_merged_folder(Checkpoint& checkpoint, const std::string& folder,
                                              const AdapterChanges& adapter, const std::string& out,
                                              ThreadPool& pool, QuantiseProgress progress);

}  // namespace ingot
