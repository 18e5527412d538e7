// TensorRole: the tensors of architectures, and their names in GGUF and Hugging Face files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "load/config.h"

namespace ingot {

/// What a tensor is for. Roles from kAttnNorm on exist once in each layer, roles from kExpertGate
/// on once for each expert (GGUF stacks these in one tensor).
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

/// The name of a role's tensor in one spelling; empty if that container never has it.
std::string tensor_name(TensorRole role, Naming naming, std::int64_t layer = 0,
                        std::int64_t expert = 0);

/// Both spellings for a message: "blk.3.attn_q.weight (model.layers.3.self_attn.q_proj.weight)".
std::string role_names(TensorRole role, std::int64_t layer = 0, std::int64_t expert = 0);

/// Whether a tensor with this name may be ignored: its contents follow from the configuration.
bool is_ignorable(std::string_view name);

}  // namespace ingot
