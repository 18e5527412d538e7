// ProfiledBackend: runs another backend's ops and measures the time of each.
#pragma once

#include <array>

#include "backend/backend.h"
#include "backend/op_profile.h"
#include "base/index.h"

namespace ingot {

/// Passes every call to another backend unchanged, and measures the time of each call in a step.
///
/// Results are bit-equal to those of the other backend. Without profiling, steps use the other
/// backend directly. An op's time ends when the call returns. This is exact for the CPU backend,
/// which computes during the call. Ops that a device can fuse are called and timed one by one.
///
/// Ops do not name their layer, so this class detects layers. A feed-forward ends with `moe`, or
/// with the first `linear` after `activate`. Then the next `norm` with out != x begins a new layer.
/// No op after the last layer is `attention`, so ops after the last layer do not count as a layer.
///
/// Only one thread at a time may call ops or read the profile.
class ProfiledBackend final : public Backend {
 public:
  /// `inner` runs the ops, and must outlive this object.
  explicit ProfiledBackend(Backend& inner);

  /// Returns the sums over all steps of `kind` since the last `clear`.
  const StepProfile& profile(StepKind kind) const { return at(profiles_, kind); }
  /// Returns the sums over all steps since the last `clear`.
  StepProfile profile() const;
  /// Returns the seconds of each op in the last step.
  const OpSeconds& last_step() const { return step_; }
  /// Resets all sums to zero. Call it between steps only.
  void clear();

  const char* name() const override { return inner_.name(); }
  Buffer allocate(std::int64_t bytes) override { return inner_.allocate(bytes); }
  std::string_view numerics() const override { return inner_.numerics(); }
  std::string unsupported(const ModelOps& model) const override {
    return inner_.unsupported(model);
  }
  bool host_memory() const override { return inner_.host_memory(); }
  std::int64_t free_memory() const override { return inner_.free_memory(); }
  void write(std::byte* to, std::span<const std::byte> from) override { inner_.write(to, from); }
  void read(const std::byte* from, std::span<std::byte> to) const override {
    inner_.read(from, to);
  }
  Weight prepare(std::span<const View> parts, std::span<const float> bias, Use use) override {
    return inner_.prepare(parts, bias, use);
  }
  std::uint32_t packed_layout() const override { return inner_.packed_layout(); }
  Weight adopt(std::span<const View> parts, std::span<const float> bias,
               std::span<const std::byte> packed, Use use) override {
    return inner_.adopt(parts, bias, packed, use);
  }
  void packed(const Weight& w, std::span<std::byte> out) const override { inner_.packed(w, out); }
  std::int64_t prepared_bytes(std::span<const View> parts, bool bias, Use use) const override {
    return inner_.prepared_bytes(parts, bias, use);
  }
  std::int64_t kv_block_bytes(const Attention& a, KvType type) const override {
    return inner_.kv_block_bytes(a, type);
  }
  void kv_copy(std::span<const KvLayer> layers, std::int32_t from, std::int32_t to) override {
    inner_.kv_copy(layers, from, to);
  }
  void kv_read(const Attention& a, std::span<const KvLayer> layers, std::int32_t block,
               std::span<std::byte> out) const override {
    inner_.kv_read(a, layers, block, out);
  }
  void kv_load(const Attention& a, std::span<const KvLayer> layers, std::int32_t block,
               std::span<const std::byte> in) override {
    inner_.kv_load(a, layers, block, in);
  }
  std::int64_t scratch_bytes(const StepLimits& limits) const override {
    return inner_.scratch_bytes(limits);
  }
  void plan(const StepLimits& limits) override { inner_.plan(limits); }
  std::int32_t steps_ahead() const override { return inner_.steps_ahead(); }
  bool draws() const override { return inner_.draws(); }
  void wait() override { inner_.wait(); }
  void drain() noexcept override { inner_.drain(); }
  void fetch(View rows, std::span<float> out) override { inner_.fetch(rows, out); }

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
  /// Runs `call`, an op on `rows` rows, and adds its time to the sums. Returns its time in seconds.
  template <class Call>
  double timed(OpKind kind, std::int64_t rows, Call call);
  void end_layer();

  Backend& inner_;
  std::array<StepProfile, kStepKinds> profiles_;

  // State of the current step.
  StepProfile* current_ = nullptr;  ///< sums for this kind of step; null between steps
  OpSeconds step_{};
  OpSeconds layer_{};  ///< seconds of each op in the current layer
  std::size_t layers_ = 0;
  bool activated_ = false;     ///< true if the next linear ends the feed-forward
  bool feed_forward_ = false;  ///< true if the next norm with out != x begins a layer
  bool attention_ = false;     ///< true if the current layer called `attention`
};

}  // namespace ingot
