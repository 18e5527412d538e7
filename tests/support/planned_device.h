// PlannedDevice: a device with its own memory, for tests that plan and do not compute.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "backend/backend.h"

namespace ingot::testing_support {

/// Takes sizes from another backend. Works two steps ahead. Any other use is a bug.
class PlannedDevice final : public Backend {
 public:
  /// `sizes` outlives this object.
  explicit PlannedDevice(const Backend& sizes) : sizes_(sizes) {}
  /// Lets `refuse` answer `unsupported`.
  void refuse(std::function<std::string(const ModelOps&)> refuse) { refuse_ = std::move(refuse); }

  const char* name() const override { return "planned"; }
  std::string unsupported(const ModelOps& model) const override {
    return refuse_ ? refuse_(model) : "";
  }
  bool host_memory() const override { return false; }
  std::int32_t steps_ahead() const override { return 2; }
  std::int64_t prepared_bytes(std::span<const View> parts, bool bias) const override {
    return sizes_.prepared_bytes(parts, bias);
  }
  std::int64_t kv_block_bytes(const Attention& a, KvType type) const override {
    return sizes_.kv_block_bytes(a, type);
  }
  std::int64_t scratch_bytes(const StepLimits& limits) const override {
    return sizes_.scratch_bytes(limits);
  }

  Buffer allocate(std::int64_t) override { return no<Buffer>(); }
  Weight prepare(std::span<const View>, std::span<const float>, Use) override {
    return no<Weight>();
  }
  void kv_copy(std::span<const KvLayer>, std::int32_t, std::int32_t) override { no<int>(); }
  void kv_read(const Attention&, std::span<const KvLayer>, std::int32_t,
               std::span<std::byte>) const override {
    no<int>();
  }
  void kv_load(const Attention&, std::span<const KvLayer>, std::int32_t,
               std::span<const std::byte>) override {
    no<int>();
  }
  void plan(const StepLimits&) override { no<int>(); }
  void step(const Batch&, FunctionRef<void()>) override { no<int>(); }
  void embed(const Batch&, const Weight*, View) override { no<int>(); }
  void norm(View, View, const Norm&, View, Next) override { no<int>(); }
  void linear(View, const Weight&, View) override { no<int>(); }
  void rope(View, const Batch&, const Norm&, const Norm&, const Attention&) override { no<int>(); }
  void kv_write(View, const Batch&, const Attention&, KvLayer) override { no<int>(); }
  void attention(View, const Batch&, const Attention&, KvLayer, View, Next) override { no<int>(); }
  void activate(View, Act, bool, View, Next) override { no<int>(); }
  void moe(View, const MoeWeights&, const Moe&, View) override { no<int>(); }
  void gather(View, const Batch&, View) override { no<int>(); }
  void logits(View, const Weight&, const LogitsReduce&) override { no<int>(); }

 private:
  template <class Result>
  static Result no() {
    INGOT_CHECK(false, "a device that only plans");
    return {};
  }

  const Backend& sizes_;
  std::function<std::string(const ModelOps&)> refuse_;
};

}  // namespace ingot::testing_support
