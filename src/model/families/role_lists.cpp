// The lists of roles that several families share.
#include "model/families/role_lists.h"

#include <algorithm>

namespace ingot::role_lists {

using R = TensorRole;

Roles with(Roles roles, const Roles& more) {
  for (const RoleRule& rule : more) {
    const auto same = std::find_if(roles.begin(), roles.end(),
                                   [&](const RoleRule& r) { return r.role == rule.role; });
    if (same == roles.end()) {
      roles.push_back(rule);
    } else {
      *same = rule;
    }
  }
  return roles;
}

Roles with(Roles roles, std::initializer_list<RoleRule> more) {
  return with(std::move(roles), Roles(more));
}

Roles without(Roles roles, std::initializer_list<TensorRole> absent) {
  std::erase_if(roles, [&](const RoleRule& rule) {
    return std::find(absent.begin(), absent.end(), rule.role) != absent.end();
  });
  return roles;
}

Roles decoder() {
  // Embedding, head and final norm are optional, because a pipeline stage or a backbone lacks them.
  // load_model refuses a checkpoint that lacks a part which its options need.
  return {
      {R::kEmbedding, kOptional, {}},  {R::kFinalNorm, kOptional, {}},
      {R::kHead, kOptional, {}},       {R::kAttnNorm, kRequired, {}},
      {R::kQkv, kOptional, {}},        {R::kQkvBias, kOptional, {}},
      {R::kQ, kRequired, {}},          {R::kK, kRequired, {}},
      {R::kV, kRequired, {}},          {R::kQBias, kOptional, {}},
      {R::kKBias, kOptional, {}},      {R::kVBias, kOptional, {}},
      {R::kAttnOut, kRequired, {}},    {R::kAttnOutBias, kOptional, {}},
      {R::kFfnNorm, kRequired, {}},    {R::kGateUp, kOptional, {}},
      {R::kGateUpBias, kOptional, {}}, {R::kGate, kRequired, {}},
      {R::kUp, kRequired, {}},         {R::kDown, kRequired, {}},
      {R::kGateBias, kOptional, {}},   {R::kUpBias, kOptional, {}},
      {R::kDownBias, kOptional, {}},   {R::kRopeFreqs, kOptional, {}},
  };
}

Roles head_norms(Presence presence) {
  return {{R::kQNorm, presence, {}}, {R::kKNorm, presence, {}}};
}

Roles wide_norms() { return {{R::kQNormWide, kRequired, {}}, {R::kKNormWide, kRequired, {}}}; }

Roles norms_of_each_head() {
  return {{R::kQNormEach, kOptional, {}}, {R::kKNormEach, kOptional, {}}};
}

Roles experts() {
  return {{R::kRouter, kRequired, {}},
          {R::kExpertGate, kRequired, {}},
          {R::kExpertUp, kRequired, {}},
          {R::kExpertDown, kRequired, {}}};
}

Roles shared_experts() {
  return {{R::kSharedGate, kRequired, {}},
          {R::kSharedUp, kRequired, {}},
          {R::kSharedDown, kRequired, {}}};
}

}  // namespace ingot::role_lists
