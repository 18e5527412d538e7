// model_fingerprint: a hash of a model's architecture and weights, independent of names of files.
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

/// 128 bits over everything that fixes a model's results except the numerics profile. Different
/// models practically never have equal fingerprints by accident; a forger could make them equal.
using ModelFingerprint = std::array<std::uint64_t, 2>;

/// Hashes the architecture and every tensor: name, type, shape and bytes, read once on the threads
/// of `pool`. `weights` is the format to which matrices are rounded while loading.
ModelFingerprint model_fingerprint(const Checkpoint& checkpoint, const Spec& spec,
                                   std::optional<Format> weights, ThreadPool& pool);

/// Value of `system_fingerprint` in responses: "fp_" and 16 hexadecimal digits. Two servers with
/// equal values answer equal requests with equal bytes: the digits depend on the model, the type of
/// its KV cache ("F16"), the numerics profile and the order version.
std::string system_fingerprint(const ModelFingerprint& model, std::string_view kv_type);

/// 32 hexadecimal digits.
std::string to_string(const ModelFingerprint& fingerprint);

}  // namespace ingot
