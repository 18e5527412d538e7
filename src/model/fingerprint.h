// model_fingerprint: a hash of a model's architecture and weights, independent of file names.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/thread_pool.h"
#include "load/checkpoint.h"
#include "model/spec.h"

namespace ingot {

/// A 128-bit hash (XXH3) of everything that determines a model's results, except the numerics
/// profile. Accidental collisions are practically impossible; deliberate ones are not.
using ModelFingerprint = std::array<std::uint64_t, 2>;

/// Hashes the architecture and every tensor: name, type, shape and bytes, read once on the threads
/// of `pool`. `weights` is the format to which loading rounds matrices, if any.
ModelFingerprint model_fingerprint(const Checkpoint& checkpoint, const Spec& spec,
                                   std::optional<Format> weights, ThreadPool& pool);

/// Formats a fingerprint as 32 hexadecimal digits.
std::string to_string(const ModelFingerprint& fingerprint);

}  // namespace ingot
