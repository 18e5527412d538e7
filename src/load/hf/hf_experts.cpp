// Reads a mixture of experts from config.json: experts, router, shared experts, dense layers.
#include <algorithm>
#include <string_view>

#include "base/index.h"
#include "base/text.h"
#include "load/hf/hf_parts.h"

namespace ingot {

namespace {

/// Sets which layers are dense: the first ones, listed ones, and those decoder_sparse_step skips.
void read_dense_layers(const HfKeys& keys, Config& c) {
  const std::int64_t step = keys.integer("decoder_sparse_step", 1, kLayersMax).value_or(1);
  const std::int64_t first = keys.integer("first_k_dense_replace", 0, kLayersMax).value_or(0);
  std::vector<bool> dense(to_size(c.layers));
  for (std::int64_t layer = 0; layer < c.layers; ++layer) {
    at(dense, layer) = layer < first || (layer + 1) % step != 0;
  }
  if (const Json::Array* list = keys.array("mlp_only_layers")) {
    for (const Json& entry : *list) {
      const std::int64_t* layer = entry.as_int();
      if (layer == nullptr || *layer < 0 || *layer >= c.layers) {
        keys.members().refuse("an entry of mlp_only_layers", entry,
                              cat("expected a layer below ", c.layers));
      }
      at(dense, *layer) = true;
    }
  }
  if (std::find(dense.begin(), dense.end(), true) != dense.end()) c.dense_layer = std::move(dense);
}

void expect_text(const HfKeys& keys, std::string_view name, std::string_view expected) {
  const std::string* text = keys.text(name);
  if (text != nullptr && *text != expected) keys.refuse(name, cat("supported is ", expected));
}

/// Reads groups of experts. DeepSeek V2 names its rule in topk_method; V3 always has groups.
void read_groups(const HfKeys& keys, Config& c) {
  if (!keys.reads("topk_method")) return;
  RouterRules& router = c.router;
  if (router.sigmoid) {
    expect_text(keys, "topk_method", "noaux_tc");
  } else {
    const std::string* method = keys.text("topk_method");
    if (method == nullptr || *method == "greedy") return;
    if (*method != "group_limited_greedy") {
      keys.refuse("topk_method", "supported are greedy and group_limited_greedy");
    }
  }
  router.groups = keys.integer("n_group", 1, kExpertsMax).value_or(1);
  router.groups_used = keys.integer("topk_group", 1, kExpertsMax).value_or(1);
  router.groups_by_two_best = router.sigmoid;
}

void read_router(const HfKeys& keys, Config& c) {
  RouterRules& router = c.router;
  router.sigmoid = keys.family().sigmoid_router;
  expect_text(keys, "scoring_func", router.sigmoid ? "sigmoid" : "softmax");
  router.renormalise = keys.family().renormalise;
  if (keys.reads("norm_topk_prob")) {
    router.renormalise = keys.flag("norm_topk_prob");
  } else if (keys.members().boolean("norm_topk_prob").value_or(router.renormalise) !=
             router.renormalise) {
    // transformers ignores the key in these families, but the models' authors do not.
    keys.members().refuse("norm_topk_prob", cat("supported is ", router.renormalise));
  }
  if (keys.reads("routed_scaling_factor")) {
    router.scale = keys.number("routed_scaling_factor").value_or(1);
  }
  read_groups(keys, c);
}

}  // namespace

void read_hf_experts(const HfKeys& keys, Config& config) {
  if (!keys.reads("num_experts")) return;
  config.experts = keys.required_integer("num_experts", 1, kExpertsMax);
  config.experts_used = keys.required_integer("num_experts_per_tok", 1, config.experts);
  config.expert_ffn = keys.required_integer("moe_intermediate_size", 1, kFfnMax);
  config.shared_ffn =
      keys.integer("shared_expert_intermediate_size", 0, kFfnMax).value_or(0) +
      keys.integer("n_shared_experts", 0, kExpertsMax).value_or(0) * config.expert_ffn;
  read_router(keys, config);
  read_dense_layers(keys, config);
  config.mtp_layers = keys.integer("num_nextn_predict_layers", 0, kLayersMax).value_or(0);
  if (config.mtp_layers > 0) {
    keys.notes().detail(cat("layers for multi-token prediction are not used: ", config.mtp_layers));
  }
}

}  // namespace ingot
