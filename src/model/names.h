// TensorRole: what a tensor is for, and its names in GGUF and Hugging Face files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "load/config.h"

namespace ingot {

/// What a tensor is for. Roles from kAttnNorm to kRouter exist once per layer. Later roles exist
/// once per layer and expert; GGUF stacks the tensors of a layer's experts in one tensor.
enum class TensorRole : std::uint8_t {
  kEmbedding,
  kFinalNorm,
  kHead,
  kRopeFreqs,
  kAttnNorm,
  kQ,
  kK,
  kV,
  kAttnOut,
  kQBias,
  kKBias,
  kVBias,
  kAttnOutBias,
  kQNorm,
  kKNorm,
  kFfnNorm,
  kGate,
  kUp,
  kDown,
  kGateBias,
  kUpBias,
  kDownBias,
  kRouter,
  kExpertGate,
  kExpertUp,
  kExpertDown,
};

/// A tensor's name in the given naming; empty if files with this naming never have the tensor.
std::string tensor_name(TensorRole role, Naming naming, std::int64_t layer = 0,
                        std::int64_t expert = 0);

/// A role's names in both namings: "blk.3.attn_q.weight (model.layers.3.self_attn.q_proj.weight)".
std::string role_names(TensorRole role, std::int64_t layer = 0, std::int64_t expert = 0);

/// Whether a tensor with this name may be ignored, since the configuration implies its contents.
bool is_ignorable(std::string_view name);

}  // namespace ingot
