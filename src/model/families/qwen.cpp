// Qwen2 (and 2.5), Qwen3 and its mixture of experts.
#include "model/families/decoder.h"

namespace ingot {

namespace {

/// What Qwen3's dense and sparse models share. Which of dense feed-forward, router and experts a
/// layer has is in the Spec: `sparse`.
std::vector<SlotRule> qwen3_slots() {
  return decoder_slots({{Slot::kQBias, Presence::kOptional},
                        {Slot::kKBias, Presence::kOptional},
                        {Slot::kVBias, Presence::kOptional},
                        {Slot::kAttnOutBias, Presence::kOptional},
                        {Slot::kQNorm, Presence::kRequired},
                        {Slot::kKNorm, Presence::kRequired},
                        {Slot::kGate, Presence::kRequired},
                        {Slot::kUp, Presence::kRequired},
                        {Slot::kDown, Presence::kRequired}});
}

std::vector<SlotRule> qwen3moe_slots() {
  std::vector<SlotRule> slots = qwen3_slots();
  for (const Slot slot : {Slot::kRouter, Slot::kExpertGate, Slot::kExpertUp, Slot::kExpertDown}) {
    slots.push_back({slot, Presence::kRequired});
  }
  return slots;
}

}  // namespace

const Family& qwen2_family() {
  static const Family family{.architectures = {"qwen2"},
                             .spec = decoder_spec,
                             .slots = decoder_slots({{Slot::kQBias, Presence::kRequired},
                                                     {Slot::kKBias, Presence::kRequired},
                                                     {Slot::kVBias, Presence::kRequired},
                                                     {Slot::kGate, Presence::kRequired},
                                                     {Slot::kUp, Presence::kRequired},
                                                     {Slot::kDown, Presence::kRequired}})};
  return family;
}

const Family& qwen3_family() {
  static const Family family{
      .architectures = {"qwen3"}, .spec = decoder_spec, .slots = qwen3_slots()};
  return family;
}

const Family& qwen3moe_family() {
  static const Family family{
      .architectures = {"qwen3moe"}, .spec = decoder_spec, .slots = qwen3moe_slots()};
  return family;
}

}  // namespace ingot
