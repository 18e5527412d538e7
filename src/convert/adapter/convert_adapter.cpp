// convert_adapter: binds the adapter to the model, renames its pairs, and writes them.
#include "convert/adapter/convert_adapter.h"

#include "base/error.h"
#include "convert/adapter/adapter_pairs.h"
#include "convert/adapter/write_adapter.h"
#include "model/bind.h"
#include "model/family.h"
#include "model/model.h"

namespace ingot {

namespace {

/// What the names of the model's modules begin with.
std::string module_prefix(const Checkpoint& model, const BoundModel& bound) {
  const std::string usual = find_family(bound.spec.architecture, model.name())
                                .tensor_name(TensorRole::kEmbedding, Naming::kHuggingFace);
  if (model.config().naming == Naming::kGguf || !bound.embedding) return std::string(kModelPrefix);
  const std::string_view end = std::string_view(usual).substr(kModelPrefix.size());
  const std::string& name = bound.embedding.parts.front().tensor->name;
  if (!name.ends_with(end)) return std::string(kModelPrefix);
  return name.substr(0, name.size() - end.size());
}

/// PEFT's name of a model's task; empty for embedders and cross-encoders.
std::string task_of(const Spec& spec) {
  return spec.causal && spec.pooling == Pooling::kNone ? "CAUSAL_LM" : "";
}

}  // namespace

std::vector<std::string> convert_adapter(const AdapterFile& file, const Checkpoint& model,
                                         const std::string& path) {
  const BoundModel bound = bind_model(model);
  const AdapterTargets targets(bound, model.config().naming, ModelOptions{});
  const AdapterPlan plan = plan_adapter(file, targets);
  const bool to_gguf = file.naming == Naming::kHuggingFace;
  const std::vector<NewPair> pairs =
      convert_pairs(file, plan, targets, to_gguf ? Naming::kGguf : Naming::kHuggingFace,
                    module_prefix(model, bound));
  if (pairs.empty()) {
    throw model_error(file.tensor_file, "header",
                      "no pair has an effect on this model, so there is nothing to write");
  }
  std::vector<std::string> notes =
      to_gguf ? write_gguf_adapter(file, pairs, targets.architecture(), path)
              : write_peft_adapter(file, pairs, task_of(bound.spec), path);
  if (plan.unused != nullptr) notes.push_back(plan.unused_warning());
  return notes;
}

}  // namespace ingot
