// Describes to a backend what a bound model needs, and refuses the model if an op is missing.
#include "model/require_supported.h"

#include <algorithm>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "model/weight_list.h"

namespace ingot {

namespace {

/// The formats of the matrices in memory, each once.
std::vector<Format> held_formats(const BoundModel& bound, const ModelOptions& options) {
  std::vector<Format> formats;
  for (const BoundWeight* w : all_weights(bound, options)) {
    for (const BoundPart& part : w->parts) formats.push_back(held_format(*w, part, options));
  }
  std::sort(formats.begin(), formats.end());
  formats.erase(std::unique(formats.begin(), formats.end()), formats.end());
  return formats;
}

/// Refuses options that this model's architecture excludes, on every device.
void refuse_parts(const BoundModel& bound, const ModelOptions& options, KvType kv_type,
                  const std::string& file) {
  const Spec& spec = bound.spec;
  const auto refuse = [&](const std::string& reason) {
    throw Error(ErrorCode::kInvalid, cat(printable(file, 4096), ": ", reason));
  };
  constexpr std::int32_t kInt8Group = 32;
  if (kv_type == KvType::kInt8 && spec.mla.kv_rank % kInt8Group != 0) {
    refuse(cat("`kv_type` int8 needs a latent of a multiple of ", kInt8Group,
               " elements, this model has ", spec.mla.kv_rank));
  }
  if (options.first_layer > 0 && spec.layer_input > 0) {
    refuse("layers with inputs of their own cannot start a stage, which has no token ids");
  }
  for (std::int64_t i = options.first_layer; i < last_layer(bound, options); ++i) {
    const std::int32_t source = spec.layer(i).kv_source;
    if (source < 0 || source >= options.first_layer) continue;
    refuse(cat("layer ", i, " reads the keys and values of layer ", source,
               ", which is not in the same stage"));
  }
}

}  // namespace

void require_supported(const BoundModel& bound, const ModelOptions& options, KvType kv_type,
                       const Backend& backend, const std::string& file) {
  const Spec& spec = bound.spec;
  std::vector<Attention> attention;
  for (const KvUse& use : planned_kv_uses(bound, options)) attention.push_back(use.attention);
  refuse_parts(bound, options, kv_type, file);
  const std::vector<Format> formats = held_formats(bound, options);
  const std::string missing = backend.unsupported({.attention = attention,
                                                   .formats = formats,
                                                   .kv_type = kv_type,
                                                   .norm = spec.norm,
                                                   .act = spec.act,
                                                   .moe = spec.moe,
                                                   .pooling = spec.pooling});
  if (missing.empty()) return;
  throw Error(ErrorCode::kInvalid,
              cat(printable(file, 4096), ": device ", backend.name(), " does not compute ", missing,
                  "; start with `--device cpu`"));
}

}  // namespace ingot
