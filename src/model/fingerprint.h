// model_fingerprint: which weights these are, whatever the file is called and wherever it lies.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/thread_pool.h"
#include "load/checkpoint.h"
#include "model/spec.h"

namespace ingot {

/// 128 bits over all that a model's results are a function of besides the numerics profile. Equal
/// by accident for different models with a chance that nobody has to think of; not by intent.
using ModelFingerprint = std::array<std::uint64_t, 2>;

/// Hashes the architecture and every tensor: its name, type, shape and all of its bytes, which are
/// read once on the threads of `pool`. `weights` is what matrices are rounded to while loading.
ModelFingerprint model_fingerprint(const Checkpoint& checkpoint, const Spec& spec,
                                   std::optional<Format> weights, ThreadPool& pool);

/// 32 hexadecimal digits.
std::string to_string(const ModelFingerprint& fingerprint);

}  // namespace ingot
