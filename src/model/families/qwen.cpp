// Qwen2 (and 2.5), Qwen3 and its mixture of experts.
#include "model/families/decoder.h"

namespace ingot {

const Family& qwen2_family() {
  static const Family family{.architectures = {"qwen2"},
                             .spec = decoder_spec,
                             .slots = decoder_slots({
                                 {Slot::kQBias, Presence::kRequired},
                                 {Slot::kKBias, Presence::kRequired},
                                 {Slot::kVBias, Presence::kRequired},
                                 {Slot::kGate, Presence::kRequired},
                                 {Slot::kUp, Presence::kRequired},
                                 {Slot::kDown, Presence::kRequired},
                             })};
  return family;
}

const Family& qwen3_family() {
  static const Family family{.architectures = {"qwen3"},
                             .spec = decoder_spec,
                             .slots = decoder_slots({
                                 {Slot::kQBias, Presence::kOptional},
                                 {Slot::kKBias, Presence::kOptional},
                                 {Slot::kVBias, Presence::kOptional},
                                 {Slot::kAttnOutBias, Presence::kOptional},
                                 {Slot::kQNorm, Presence::kRequired},
                                 {Slot::kKNorm, Presence::kRequired},
                                 {Slot::kGate, Presence::kRequired},
                                 {Slot::kUp, Presence::kRequired},
                                 {Slot::kDown, Presence::kRequired},
                             })};
  return family;
}

const Family& qwen3moe_family() {
  // Which of router, experts and dense feed-forward a layer has is in the Spec: `sparse`.
  static const Family family{.architectures = {"qwen3moe"},
                             .spec = decoder_spec,
                             .slots = decoder_slots({
                                 {Slot::kQBias, Presence::kOptional},
                                 {Slot::kKBias, Presence::kOptional},
                                 {Slot::kVBias, Presence::kOptional},
                                 {Slot::kAttnOutBias, Presence::kOptional},
                                 {Slot::kQNorm, Presence::kRequired},
                                 {Slot::kKNorm, Presence::kRequired},
                                 {Slot::kGate, Presence::kRequired},
                                 {Slot::kUp, Presence::kRequired},
                                 {Slot::kDown, Presence::kRequired},
                                 {Slot::kRouter, Presence::kRequired},
                                 {Slot::kExpertGate, Presence::kRequired},
                                 {Slot::kExpertUp, Presence::kRequired},
                                 {Slot::kExpertDown, Presence::kRequired},
                             })};
  return family;
}

}  // namespace ingot
