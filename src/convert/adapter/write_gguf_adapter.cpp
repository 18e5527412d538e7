// write_gguf_adapter: one alpha, and the tensors "NAME.lora_a" and "NAME.lora_b".
#include <string>
#include <utility>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "convert/adapter/adapter_scales.h"
#include "convert/adapter/write_adapter.h"
#include "load/gguf/gguf_writer.h"

namespace ingot {

namespace {

GgufValues adapter_values(const AdapterFile& from, const std::string& architecture, float alpha) {
  GgufValues values;
  values.set_text("general.architecture", architecture);
  values.set_text("general.type", "adapter");
  if (!from.base_model.empty()) {
    values.set_uint32("general.base_model.count", 1);
    values.set_text("general.base_model.0.name", from.base_model);
  }
  values.set_text("adapter.type", "lora");
  values.set_float32("adapter.lora.alpha", alpha);
  const std::vector<std::uint32_t> tokens(from.invocation_tokens.begin(),
                                          from.invocation_tokens.end());
  if (!tokens.empty()) values.set_counts("adapter.alora.invocation_tokens", tokens);
  return values;
}

/// A tensor to write: a matrix, or a stack of the experts' matrices.
struct AdapterTensor {
  GgufTensor entry;
  std::vector<AdapterMatrix> matrices;
};

AdapterTensor tensor_of(const NewPair& pair, std::string_view half,
                        std::vector<AdapterMatrix> matrices) {
  AdapterTensor tensor{.entry = {}, .matrices = in_one_format(std::move(matrices))};
  const AdapterMatrix& first = tensor.matrices.front();
  tensor.entry = {
      .name = cat(pair.module, half), .shape = {first.rows, first.cols}, .format = first.format};
  if (pair.kind == AdapterPairKind::kStack) {
    tensor.entry.shape.insert(tensor.entry.shape.begin(), std::ssize(tensor.matrices));
  }
  return tensor;
}

/// Powers of 2 change no result, so they need no note.
std::vector<std::string> rounding_notes(const SharedAlpha& shared) {
  if (shared.exact) return {};
  return {cat("scales of pairs differ, and GGUF has one alpha, ", shared.alpha,
              ": B of some pairs is multiplied in F32, so results may differ by rounding")};
}

}  // namespace

std::vector<std::string> write_gguf_adapter(const AdapterFile& from,
                                            const std::vector<NewPair>& pairs,
                                            const std::string& architecture,
                                            const std::string& path) {
  const SharedAlpha shared = share_alpha(pairs);
  if (shared.alpha == 0) {
    throw model_error(from.name, "config", "all scales are 0, which GGUF cannot express");
  }
  std::vector<AdapterTensor> tensors;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const double factor = shared.factors[i];
    std::vector<AdapterMatrix> b = pairs[i].b;
    if (factor != 1) {
      const std::string name = cat(pairs[i].module, ".lora_b");
      for (AdapterMatrix& m : b) m = multiplied(m, factor, from.name, name);
    }
    tensors.push_back(tensor_of(pairs[i], ".lora_a", pairs[i].a));
    tensors.push_back(tensor_of(pairs[i], ".lora_b", std::move(b)));
  }
  std::vector<GgufTensor> table;
  table.reserve(tensors.size());
  for (const AdapterTensor& tensor : tensors) table.push_back(tensor.entry);
  GgufWriter writer(path, adapter_values(from, architecture, shared.alpha), std::move(table));
  for (const AdapterTensor& tensor : tensors) {
    for (const AdapterMatrix& m : tensor.matrices) writer.write(m.bytes);
  }
  writer.commit();
  return rounding_notes(shared);
}

}  // namespace ingot
