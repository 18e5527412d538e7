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

}  // namespace

void require_supported(const BoundModel& bound, const ModelOptions& options, KvType kv_type,
                       const Backend& backend, const std::string& file) {
  const Spec& spec = bound.spec;
  const std::vector<Attention> attention = planned_attention(bound, options);
  const std::vector<Format> formats = held_formats(bound, options);
  const std::string missing = backend.unsupported({.attention = attention,
                                                   .formats = formats,
                                                   .kv_type = kv_type,
                                                   .norm = spec.norm,
                                                   .act = spec.act,
                                                   .moe = spec.moe});
  if (missing.empty()) return;
  throw Error(ErrorCode::kInvalid,
              cat(printable(file, 4096), ": device ", backend.name(), " does not compute ", missing,
                  "; start with `--device cpu`"));
}

}  // namespace ingot
