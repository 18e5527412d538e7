// The family of Llama 1, 2, 3 and Mistral, which GGUF calls llama too.
#include "model/families/decoder.h"

namespace ingot {

const Family& llama_family() {
  static const Family family{.architectures = {"llama"},
                             .spec = decoder_spec,
                             .roles = decoder_roles({
                                 {TensorRole::kRopeFreqs, Presence::kOptional},
                                 {TensorRole::kQBias, Presence::kOptional},
                                 {TensorRole::kKBias, Presence::kOptional},
                                 {TensorRole::kVBias, Presence::kOptional},
                                 {TensorRole::kAttnOutBias, Presence::kOptional},
                                 {TensorRole::kGate, Presence::kRequired},
                                 {TensorRole::kUp, Presence::kRequired},
                                 {TensorRole::kDown, Presence::kRequired},
                                 {TensorRole::kGateBias, Presence::kOptional},
                                 {TensorRole::kUpBias, Presence::kOptional},
                                 {TensorRole::kDownBias, Presence::kOptional},
                             })};
  return family;
}

}  // namespace ingot
