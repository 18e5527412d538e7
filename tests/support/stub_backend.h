// StubBackend: the base of test backends that compute nothing.
#pragma once

#include "backend/backend.h"

namespace ingot::testing_support {

/// Has no memory, its sizes are 0, and its steps and ops do nothing. Results stay as they are.
class StubBackend : public Backend {
 public:
  const char* name() const override { return "stub"; }
  Buffer allocate(std::int64_t) override { return {}; }
  Weight prepare(std::span<const View>, std::span<const float>, Use) override { return {}; }
  std::int64_t prepared_bytes(std::span<const View>, bool, Use) const override { return 0; }
  std::int64_t kv_block_bytes(const Attention&, KvType) const override { return 0; }
  void kv_copy(std::span<const KvLayer>, std::int32_t, std::int32_t) override {}
  void kv_read(const Attention&, std::span<const KvLayer>, std::int32_t,
               std::span<std::byte>) const override {}
  void kv_load(const Attention&, std::span<const KvLayer>, std::int32_t,
               std::span<const std::byte>) override {}
  std::int64_t scratch_bytes(const StepLimits&) const override { return 0; }
  void plan(const StepLimits&) override {}
  void step(const Batch&, FunctionRef<void()>) override {}
  void embed(const Batch&, const Embedding&, View) override {}
  void norm(View, Term, const Norm&, View, Next) override {}
  void scale(View, float) override {}
  void linear(View, const Weight&, View) override {}
  void linear_heads(View, std::span<const Weight>, std::int32_t, View) override {}
  void rope(View, const Batch&, const HeadNorms&, const Attention&) override {}
  void kv_write(View, const Batch&, const Attention&, KvLayer) override {}
  void attention(View, const Batch&, const Attention&, KvLayer, View, Next) override {}
  void activate(View, Act, bool, View, Next) override {}
  void glu(View, View, Act, View, Next) override {}
  void add_gated(View, View, View) override {}
  void moe(View, const MoeWeights&, const Moe&, View) override {}
  void gather(View, const Batch&, View) override {}
  void logits(View, const Head&, const LogitsReduce&) override {}
  void pool(View, const Batch&, Pooling, View) override {}
  void normalise(View) override {}
};

}  // namespace ingot::testing_support
