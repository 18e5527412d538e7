// model_fingerprint: a hash of a model's architecture and weights, independent of file names.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/thread_pool.h"
#include "load/checkpoint.h"
#include "model/spec.h"

namespace ingot {

/// A 128-bit hash (XXH3) of everything that determines a model's results, except the numerics
/// profile. Accidental collisions are practically impossible; deliberate collisions are possible.
using ModelFingerprint = std::array<std::uint64_t, 2>;

/// Hashes the architecture and each tensor's name, type, shape and bytes. Reads the bytes once, on
/// the threads of `pool`. `weights` is the format to which loading rounds matrices, if any.
ModelFingerprint model_fingerprint(const Checkpoint& checkpoint, const Spec& spec,
                                   std::optional<Format> weights, ThreadPool& pool);

/// Returns `system_fingerprint` for responses: "fp_" and 16 hexadecimal digits. The digits depend
/// on the model, the type of its KV cache ("F16"), Backend::numerics and kOrderVersion. Servers
/// with equal fingerprints answer equal requests with equal bytes.
std::string system_fingerprint(const ModelFingerprint& model, std::string_view kv_type,
                               std::string_view numerics);

/// Returns the fingerprint of a model with adapters: of a model and `text`, which names them.
ModelFingerprint fingerprint_with(const ModelFingerprint& model, std::string_view text);

/// Formats a fingerprint as 32 hexadecimal digits.
std::string to_string(const ModelFingerprint& fingerprint);

}  // namespace ingot
