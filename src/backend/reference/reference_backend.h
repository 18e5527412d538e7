// ReferenceBackend: every op in plain double precision; tests compare other backends with it.
#pragma once

#include <vector>

#include "backend/backend.h"

namespace ingot {

/// Computes sums in double and rounds each output once. It does not pack weights, quantise
/// activations, cut keys into chunks or use threads.
///
/// A Weight is one F32 segment of decoded rows, [rows, cols] without gaps. KV blocks have the
/// layout of KvRows. Only for tests: it allocates memory inside ops, and shares no code with other
/// backends.
class ReferenceBackend final : public Backend {
 public:
  const char* name() const override { return "reference"; }

  Buffer allocate(std::int64_t bytes) override;
  Weight prepare(std::span<const View> parts, std::span<const float> bias, Use use) override;
  std::int64_t prepared_bytes(std::span<const View> parts, bool bias, Use) const override;
  std::int64_t kv_block_bytes(const Attention& a, KvType type) const override;
  void kv_copy(std::span<const KvLayer> layers, std::int32_t from, std::int32_t to) override;
  void kv_read(const Attention& a, std::span<const KvLayer> layers, std::int32_t block,
               std::span<std::byte> out) const override;
  void kv_load(const Attention& a, std::span<const KvLayer> layers, std::int32_t block,
               std::span<const std::byte> in) override;
  std::int64_t scratch_bytes(const StepLimits& limits) const override;
  void plan(const StepLimits& limits) override;

  void step(const Batch& batch, FunctionRef<void()> body) override;
  void embed(const Batch& batch, const Embedding& e, View x) override;
  void norm(View x, Term add, const Norm& n, View out, Next next) override;
  void scale(View x, float factor) override;
  void linear(View in, const Weight& w, View out) override;
  void linear_heads(View in, std::span<const Weight> w, std::int32_t extra, View out) override;
  void rope(View qkv, const Batch& b, const HeadNorms& n, const Attention& a) override;
  void kv_write(View qkv, const Batch& b, const Attention& a, KvLayer kv) override;
  void attention(View qkv, const Batch& b, const Attention& a, KvLayer kv, View out,
                 Next next) override;
  void activate(View in, Act act, bool gated, View out, Next next) override;
  void glu(View gate, View up, Act act, View out, Next next) override;
  void add_gated(View x, View y, View gate) override;
  void moe(View in, const MoeWeights& w, const Moe& m, View out) override;
  void gather(View x, const Batch& batch, View out) override;
  void logits(View in, const Head& head, const LogitsReduce& reduce) override;
  void pool(View x, const Batch& batch, Pooling pooling, View out) override;
  void normalise(View x) override;

 private:
  /// Returns w x with what the adapters of row `t` of the step's batch add; -1: no adapters.
  std::vector<double> adapted(const Weight& w, const std::vector<double>& x, std::int64_t t) const;

  const Batch* batch_ = nullptr;  ///< the batch of the current step
  bool has_pooled_ = false;       ///< whether rows are pooled rows now
};

}  // namespace ingot
