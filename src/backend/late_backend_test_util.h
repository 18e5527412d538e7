// LateBackend: a test double of a device that computes steps later, in memory of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "backend/backend.h"

namespace ingot::testing_support {

/// One row from which a LateBackend draws a token.
struct LateDraw {
  std::span<float> logits;  ///< [V] a copy, which the draw may overwrite
  DrawRow row;
  std::span<const LogitBias> biases;     ///< the row's biases
  std::span<const std::uint32_t> masks;  ///< [ceil(V / 32)] the row's mask; empty: all ids
  std::int64_t ranked = 0;               ///< only ids below this number are drawn; 0: all ids
};

/// How a LateBackend computes, and where it fails.
struct LateOptions {
  std::int32_t steps_ahead = 1;
  /// Returns a token, kNoToken or kAllExcluded. Empty: the backend draws no tokens.
  std::function<std::int32_t(const LateDraw&)> draw{};
  /// Called at the beginning of each `step`, with the number of earlier calls. If it throws, the
  /// step does not begin.
  std::function<void(int call, const Batch& batch)> on_step{};
  /// Called at the beginning of each `wait`, with the number of earlier calls. If it throws, half
  /// of the step's ops run before the exception leaves `wait`.
  std::function<void(int call)> on_wait{};
  /// Whether `drain` completes the steps under way. If not, it abandons them.
  bool completes_at_drain = false;
};

/// Passes ops to another backend, but later than any device may: a step's ops run in `wait`, or in
/// a call that waits for all steps, such as `read`.
///
/// Shows code that relies on more than Backend promises:
/// - The host cannot access memory of `allocate` or packed weights, so an access ends the process
///   with a fault. A bias lies in the memory of the other backend.
/// - When `step` returns, the arrays that it read hold garbage until `wait` or `drain`. These calls
///   give an array its values back, unless the caller has changed it.
/// - Result spans hold garbage until `wait`.
/// - In a step, an op that reads rows against Next::kLinears is a bug.
class LateBackend final : public Backend {
 public:
  /// `inner` computes the ops, on memory that the host can access. It outlives this object.
  explicit LateBackend(Backend& inner, LateOptions options = {});
  ~LateBackend() override;
  LateBackend(const LateBackend&) = delete;
  LateBackend& operator=(const LateBackend&) = delete;

  const char* name() const override { return "late"; }
  std::string_view numerics() const override { return inner_.numerics(); }
  std::string unsupported(const ModelOps& model) const override {
    return inner_.unsupported(model);
  }
  bool host_memory() const override { return false; }
  Buffer allocate(std::int64_t bytes) override;
  void write(std::byte* to, std::span<const std::byte> from) override;
  void read(const std::byte* from, std::span<std::byte> to) const override;
  Weight prepare(std::span<const View> parts, std::span<const float> bias, Use use) override;
  std::uint32_t packed_layout() const override { return inner_.packed_layout(); }
  void packed(const Weight& w, std::span<std::byte> out) const override;
  Weight adopt(std::span<const View> parts, std::span<const float> bias,
               std::span<const std::byte> packed, Use use) override;
  std::int64_t prepared_bytes(std::span<const View> parts, bool bias, Use use) const override {
    return inner_.prepared_bytes(parts, bias, use);
  }
  std::int64_t kv_block_bytes(const Attention& a, KvType type) const override {
    return inner_.kv_block_bytes(a, type);
  }
  void kv_copy(std::span<const KvLayer> layers, std::int32_t from, std::int32_t to) override;
  void kv_read(const Attention& a, std::span<const KvLayer> layers, std::int32_t block,
               std::span<std::byte> out) const override;
  void kv_load(const Attention& a, std::span<const KvLayer> layers, std::int32_t block,
               std::span<const std::byte> in) override;
  std::int64_t scratch_bytes(const StepLimits& limits) const override {
    return inner_.scratch_bytes(limits);
  }
  void plan(const StepLimits& limits) override { inner_.plan(limits); }

  std::int32_t steps_ahead() const override;
  bool draws() const override;
  void step(const Batch& batch, FunctionRef<void()> body) override;
  void wait() override;
  void drain() noexcept override;

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
  /// Leaves NaN in `between`.
  void linear_activate(View in, const Weight& w, Act act, bool gated, View between, View out,
                       Next next) override;
  void moe(View in, const MoeWeights& w, const Moe& m, View out) override;
  void gather(View x, const Batch& batch, View out) override;
  void logits(View in, const Head& head, const LogitsReduce& reduce) override;
  void pool(View x, const Batch& batch, Pooling pooling, View out) override;
  void normalise(View x) override;
  void fetch(View rows, std::span<float> out) override;

 private:
  class Group;
  class Queue;

  Backend& inner_;
  std::unique_ptr<Queue> queue_;
};

}  // namespace ingot::testing_support
