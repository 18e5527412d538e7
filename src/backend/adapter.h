// AdapterWeights: a LoRA adapter's matrices, packed by a backend; AdapterUse: an adapter of a row.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/weight.h"
#include "base/index.h"

namespace ingot {

/// The largest rank of an adapter's pair of matrices. One chain sums up to this rank: see
/// `Backend::linear`.
inline constexpr std::int64_t kAdapterRankMax = 1024;

/// What an adapter adds to consecutive outputs of a Weight: y = fma(scale, B u, y), where u are
/// `b.cols` consecutive elements of A x.
struct AdapterPart {
  std::int64_t first_row = 0;   ///< first of the Weight's rows that change
  std::int64_t first_rank = 0;  ///< index of the first element of u in A x
  float scale = 1;
  Weight b;  ///< [changed rows, rank]
};

/// What an adapter adds to the outputs of a Weight. Parts do not overlap in the Weight's rows. They
/// may share rows of A.
struct AdapterLinear {
  Weight a;  ///< [sum of ranks, K]
  std::vector<AdapterPart> parts;
};

/// What an adapter adds to a token's embedding x: x = fma(s, B u, x), where u is the token's row of
/// A, and s is part.scale times Embedding::scale. Without `a`, it adds nothing.
struct AdapterEmbedding {
  std::int32_t number = -1;  ///< Weight::number of the embedding matrix
  Weight a;                  ///< [V, rank]
  AdapterPart part;          ///< all H elements
};

/// An adapter's matrices, in the order of the model's weights. Matrices have dense formats and no
/// biases. Immutable, movable.
struct AdapterWeights {
  std::vector<std::int32_t> places;    ///< by Weight::number: index in `linears`; -1: no change
  std::vector<AdapterLinear> linears;  ///< the changed weights
  AdapterEmbedding embedding;

  /// Returns what the adapter adds to a weight's outputs; null if it adds nothing.
  const AdapterLinear* find(const Weight& w) const {
    if (w.number < 0 || w.number >= std::ssize(places)) return nullptr;
    const std::int32_t place = at(places, w.number);
    return place < 0 ? nullptr : &at(linears, place);
  }
  /// Returns what the adapter adds to rows of an embedding matrix; null if it adds nothing.
  const AdapterEmbedding* find_embedding(const Weight& w) const {
    return embedding.a && w.number >= 0 && w.number == embedding.number ? &embedding : nullptr;
  }
};

/// An adapter of a row, and the request's factor, which multiplies the scales of all its parts.
struct AdapterUse {
  const AdapterWeights* weights = nullptr;
  float scale = 1;
};

}  // namespace ingot
