// Counts the bytes of the layers' matrices by format.
#include "model/default_kv_type.h"

#include "model/weight_list.h"
#include "quant/formats.h"

namespace ingot {

KvType default_kv_type(const BoundModel& bound, std::optional<Format> weights) {
  const ModelOptions layers{.embedding = false, .head = false, .weights = weights};
  std::int64_t bfloat16 = 0;
  std::int64_t others = 0;
  for (const BoundWeight* w : all_weights(bound, layers)) {
    for (const BoundPart& part : w->parts) {
      const Format held = held_format(*w, part, layers);
      const std::int64_t bytes = part.rows * row_bytes(held, part.cols);
      (held == BF16::kFormat ? bfloat16 : others) += bytes;
    }
  }
  return bfloat16 > others ? KvType::kBF16 : KvType::kF16;
}

}  // namespace ingot
