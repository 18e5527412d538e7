// TensorRole: what a tensor is for, and its names in GGUF and Hugging Face files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "load/config.h"

namespace ingot {

/// What a tensor is for. Roles from kAttnNorm to kRouter exist once per layer. Roles after kRouter
/// exist once per layer and expert; GGUF stacks a layer's experts in one tensor.
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

/// Returns a tensor's name; empty if files with this naming never have a tensor of this role.
std::string tensor_name(TensorRole role, Naming naming, std::int64_t layer = 0,
                        std::int64_t expert = 0);

/// Formats both names of a role: "blk.3.attn_q.weight (model.layers.3.self_attn.q_proj.weight)".
std::string role_names(TensorRole role, std::int64_t layer = 0, std::int64_t expert = 0);

/// Returns whether loading may ignore a tensor: the configuration implies this tensor's contents.
bool is_ignorable(std::string_view name);

}  // namespace ingot
