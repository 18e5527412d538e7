// Reads the scaling of one rotary embedding of config.json.
#pragma once

#include <cstdint>

#include "load/config.h"
#include "load/hf/hf_keys.h"

namespace ingot {

/// A rotary embedding's place in a head.
struct RopeHead {
  std::int64_t head_dim = 0;  ///< elements of a head
  double fraction = 1;        ///< share of them that rotates
};

/// Reads `inner`, a rotary object of config.json, into `rope`. `rope.theta` and `rope.dims` must be
/// set; kinds that change them do so. Sets `config.attention_scale` where the scaling changes it.
///
/// Errors: model_error for an unknown kind or member, and where the object and the members outside
///         disagree.
/// Source: transformers, modeling_rope_utils.py.
void read_hf_rope_scaling(const HfKeys& keys, const JsonKeys& inner, const RopeHead& head,
                          RopeConfig& rope, Config& config);

}  // namespace ingot
