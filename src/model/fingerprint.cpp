// Computes a model's fingerprint: hashes each tensor, then all hashes in the order of names.
#include "model/fingerprint.h"

#include <algorithm>
#include <vector>

#include "base/index.h"
#include "base/order.h"
#include "base/text.h"
#include "quant/formats.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace ingot {

namespace {

ModelFingerprint hash(const void* data, std::size_t bytes) {
  const XXH128_hash_t h = XXH3_128bits(data, bytes);
  return {h.low64, h.high64};
}

std::string described(const TensorInfo& tensor) {
  std::string text = cat(tensor.name.size(), " ", tensor.name, " ", tensor.type_name);
  for (const std::int64_t dim : tensor.shape) text += cat(" ", dim);
  return text;
}

}  // namespace

ModelFingerprint model_fingerprint(const Checkpoint& checkpoint, const Spec& spec,
                                   std::optional<Format> weights, ThreadPool& pool) {
  std::vector<const TensorInfo*> tensors;
  for (const TensorInfo& tensor : checkpoint.tensors()) tensors.push_back(&tensor);
  std::sort(tensors.begin(), tensors.end(),
            [](const TensorInfo* a, const TensorInfo* b) { return a->name < b->name; });
  std::vector<ModelFingerprint> hashes(tensors.size());
  {
    const auto lease = pool.acquire();
    pool.parallel_for(std::ssize(tensors), [&](std::int64_t i, int) {
      const auto at = to_size(i);
      hashes[at] = hash(tensors[at]->data, tensors[at]->bytes);
    });
  }
  std::string text = cat(to_string(spec), "weights ", weights ? format_name(*weights) : "stored");
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    text += cat("\n", described(*tensors[i]), " ", to_string(hashes[i]));
  }
  return hash(text.data(), text.size());
}

std::string system_fingerprint(const ModelFingerprint& model, std::string_view kv_type,
                               std::string_view numerics) {
  const std::string all = cat(to_string(model), " ", kv_type, " ", numerics, " ", kOrderVersion);
  return "fp_" + to_string(hash(all.data(), all.size())).substr(0, 16);
}

ModelFingerprint fingerprint_with(const ModelFingerprint& model, std::string_view text) {
  const std::string all = cat(to_string(model), " ", text);
  return hash(all.data(), all.size());
}

std::string to_string(const ModelFingerprint& fingerprint) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint64_t half : {fingerprint[1], fingerprint[0]}) {
    for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[half >> shift & 15];
  }
  return text;
}

}  // namespace ingot
