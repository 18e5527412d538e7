// The families of Qwen2 (and 2.5), Qwen3 and Qwen3's mixture of experts.
#include "model/families/decoder.h"

namespace ingot {

namespace {

/// The roles of Qwen3's dense and sparse models. Spec::sparse says which layers have experts.
std::vector<RoleRule> qwen3_roles() {
  return decoder_roles({{TensorRole::kQBias, Presence::kOptional},
                        {TensorRole::kKBias, Presence::kOptional},
                        {TensorRole::kVBias, Presence::kOptional},
                        {TensorRole::kAttnOutBias, Presence::kOptional},
                        {TensorRole::kQNorm, Presence::kRequired},
                        {TensorRole::kKNorm, Presence::kRequired},
                        {TensorRole::kGate, Presence::kRequired},
                        {TensorRole::kUp, Presence::kRequired},
                        {TensorRole::kDown, Presence::kRequired}});
}

std::vector<RoleRule> qwen3moe_roles() {
  std::vector<RoleRule> roles = qwen3_roles();
  for (const TensorRole role : {TensorRole::kRouter, TensorRole::kExpertGate, TensorRole::kExpertUp,
                                TensorRole::kExpertDown}) {
    roles.push_back({role, Presence::kRequired});
  }
  return roles;
}

}  // namespace

const Family& qwen2_family() {
  static const Family family{.architectures = {"qwen2"},
                             .spec = decoder_spec,
                             .roles = decoder_roles({{TensorRole::kQBias, Presence::kRequired},
                                                     {TensorRole::kKBias, Presence::kRequired},
                                                     {TensorRole::kVBias, Presence::kRequired},
                                                     {TensorRole::kGate, Presence::kRequired},
                                                     {TensorRole::kUp, Presence::kRequired},
                                                     {TensorRole::kDown, Presence::kRequired}})};
  return family;
}

const Family& qwen3_family() {
  static const Family family{
      .architectures = {"qwen3"}, .spec = decoder_spec, .roles = qwen3_roles()};
  return family;
}

const Family& qwen3moe_family() {
  static const Family family{
      .architectures = {"qwen3moe"}, .spec = decoder_spec, .roles = qwen3moe_roles()};
  return family;
}

}  // namespace ingot
