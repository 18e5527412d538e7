// The tensors that architectures are made of, and how containers spell their names.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "load/config.h"

namespace ingot {

/// A tensor's role. Those from kAttnNorm on exist once a layer, those from kExpertGate on once an
/// expert (in GGUF stacked in one tensor).
enum class Slot : std::uint8_t {
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

/// The name of a slot's tensor in one spelling; empty where that container never has it.
std::string tensor_name(Slot slot, Naming naming, std::int64_t layer = 0, std::int64_t expert = 0);

/// Both spellings for a message: "blk.3.attn_q.weight (model.layers.3.self_attn.q_proj.weight)".
std::string slot_names(Slot slot, std::int64_t layer = 0, std::int64_t expert = 0);

/// Names that may be left over: what they hold is known not to matter.
bool is_ignorable(std::string_view name);

}  // namespace ingot
