// Llama 1, 2, 3 and Mistral, which GGUF calls llama too.
#include "model/families/decoder.h"

namespace ingot {

const Family& llama_family() {
  static const Family family{.architectures = {"llama"},
                             .spec = decoder_spec,
                             .slots = decoder_slots({
                                 {Slot::kRopeFreqs, Presence::kOptional},
                                 {Slot::kQBias, Presence::kOptional},
                                 {Slot::kKBias, Presence::kOptional},
                                 {Slot::kVBias, Presence::kOptional},
                                 {Slot::kAttnOutBias, Presence::kOptional},
                                 {Slot::kGate, Presence::kRequired},
                                 {Slot::kUp, Presence::kRequired},
                                 {Slot::kDown, Presence::kRequired},
                                 {Slot::kGateBias, Presence::kOptional},
                                 {Slot::kUpBias, Presence::kOptional},
                                 {Slot::kDownBias, Presence::kOptional},
                             })};
  return family;
}

}  // namespace ingot
