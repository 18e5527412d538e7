// The list of supported model families, and the look-up of families and rules.
#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "model/families/role_lists.h"

namespace ingot {

namespace {

std::vector<Family> all_families() {
  std::vector<Family> all;
  for (const auto list : {role_lists::llama_families, role_lists::gemma_families,
                          role_lists::sandwich_families, role_lists::layer_norm_families,
                          role_lists::expert_families, role_lists::encoder_families}) {
    for (Family& family : list()) all.push_back(std::move(family));
  }
  return all;
}

}  // namespace

RoleNames RoleRule::spelled() const {
  const RoleNames usual = default_names(role);
  return {.gguf = names.gguf.empty() ? usual.gguf : names.gguf,
          .hugging_face = names.hugging_face.empty() ? usual.hugging_face : names.hugging_face};
}

const RoleRule* Family::rule_of(TensorRole role) const {
  const auto rule =
      std::find_if(roles.begin(), roles.end(), [&](const RoleRule& r) { return r.role == role; });
  return rule == roles.end() ? nullptr : &*rule;
}

std::string Family::tensor_name(TensorRole role, Naming naming, std::int64_t layer,
                                std::int64_t expert) const {
  const RoleRule* rule = rule_of(role);
  return rule == nullptr ? std::string()
                         : ingot::tensor_name(rule->spelled(), naming, layer, expert);
}

std::span<const Family> families() {
  static const std::vector<Family> all = all_families();
  return all;
}

const Family& find_family(std::string_view architecture, const std::string& file) {
  std::string supported;
  for (const Family& family : families()) {
    const auto& names = family.architectures;
    if (std::find(names.begin(), names.end(), architecture) != names.end()) return family;
    for (const std::string_view name : names) supported += cat(supported.empty() ? "" : ", ", name);
  }
  throw model_error(file, "config",
                    cat("architecture ", printable(architecture),
                        " is not supported; supported are ", supported));
}

}  // namespace ingot
