// write_full_adapter: an adapter with a pair for every module of a model, for tests.
#pragma once

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/index.h"
#include "convert/adapter/write_adapter.h"
#include "quant/encode.h"
#include "quant/formats.h"

namespace ingot::testing_support {

/// A random matrix of multiples of `unit`, which all formats of adapters hold exactly.
inline AdapterMatrix random_matrix(std::mt19937_64& random, Format format, std::int64_t rows,
                                   std::int64_t cols, float unit) {
  std::vector<float> values(to_size(rows * cols));
  for (float& v : values) v = unit * static_cast<float>(static_cast<int>(random() % 127) - 63);
  AdapterMatrix m{.format = format, .rows = rows, .cols = cols, .bytes = {}};
  m.bytes.resize(to_size(row_bytes(format, rows * cols)));
  encode_row(format, values.data(), rows * cols, m.bytes.data());
  return m;
}

/// Writes an adapter of the form `naming` to `path`, with a pair for every module of the model for
/// which `wants(name)` holds. Pairs have rank 2, or 1 where a matrix has one row, and the scale
/// 1/2.
template <class Wants>
void write_full_adapter(const AdapterTargets& targets, Naming naming, const std::string& path,
                        Wants wants) {
  std::mt19937_64 random(7);
  const Format formats[] = {F32::kFormat, F16::kFormat, BF16::kFormat};
  std::vector<NewPair> pairs;
  for (const AdapterModule& module : targets.modules(naming)) {
    if (!wants(module.name)) continue;
    const AdapterTarget& target = module.list.targets->front();
    const std::int64_t in = target.embedding ? target.rows : target.cols;
    const std::int64_t out = target.embedding ? target.cols : target.module_rows;
    NewPair pair{.module = module.name, .rank = std::min<std::int64_t>({2, in, out}), .scale = 0.5};
    const bool is_stack = target.experts > 0 && module.list.expert < 0;
    const bool gguf = naming == Naming::kGguf;
    if (target.embedding) pair.kind = AdapterPairKind::kEmbedding;
    if (is_stack) pair.kind = gguf ? AdapterPairKind::kStack : AdapterPairKind::kParameter;
    const Format format = formats[random() % 3];
    for (std::int64_t e = 0; e < (is_stack ? target.experts : 1); ++e) {
      pair.a.push_back(target.embedding ? random_matrix(random, format, in, pair.rank, 0x1p-7f)
                                        : random_matrix(random, format, pair.rank, in, 0x1p-7f));
      pair.b.push_back(random_matrix(random, format, out, pair.rank, 0x1p-7f));
    }
    pairs.push_back(std::move(pair));
  }
  AdapterFile from;
  from.name = path;
  if (naming == Naming::kGguf) {
    write_gguf_adapter(from, pairs, targets.architecture(), path);
  } else {
    write_peft_adapter(from, pairs, "CAUSAL_LM", path);
  }
}

}  // namespace ingot::testing_support
