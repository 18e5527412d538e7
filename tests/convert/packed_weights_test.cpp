// Loading with a pack cache: each weight's packed bytes go through the backend, out and in again.
#include <gtest/gtest.h>

#include <algorithm>

#include "backend/cpu/cpu_backend.h"
#include "base/temp_folder_test_util.h"
#include "convert/synthetic.h"
#include "model/model.h"

namespace ingot::testing_support {
namespace {

using PackedBytes = std::vector<std::byte>;

/// Packs weights as the CPU does, and records what is loaded. It computes no ops. `packed` inverts
/// all bits, so that bytes that bypass it are other bytes.
class LoadingBackend final : public Backend {
 public:
  std::vector<Use> uses;                   ///< the use in each `prepare` or `adopt`
  std::vector<PackedBytes> prepared;       ///< inverted packed bytes of each `prepare`
  mutable std::vector<PackedBytes> given;  ///< bytes of each `packed`
  std::vector<PackedBytes> adopted;        ///< bytes of each `adopt`

  const char* name() const override { return "loading"; }
  Buffer allocate(std::int64_t bytes) override { return cpu_.allocate(bytes); }
  std::uint32_t packed_layout() const override { return 1; }
  std::int64_t prepared_bytes(std::span<const View> parts, bool bias) const override {
    return cpu_.prepared_bytes(parts, bias);
  }
  Weight prepare(std::span<const View> parts, std::span<const float> bias, Use use) override {
    Weight w = cpu_.prepare(parts, bias, use);
    uses.push_back(use);
    prepared.push_back(inverted(w));
    return w;
  }
  void packed(const Weight& w, std::span<std::byte> out) const override {
    given.push_back(inverted(w));
    ASSERT_EQ(out.size(), given.back().size());
    std::ranges::copy(given.back(), out.begin());
  }
  Weight adopt(std::span<const View> parts, std::span<const float> bias,
               std::span<const std::byte> packed, Use use) override {
    uses.push_back(use);
    adopted.emplace_back(packed.begin(), packed.end());
    return cpu_.adopt(parts, bias, packed, use);
  }

  std::int64_t kv_block_bytes(const Attention&, KvType) const override { return 0; }
  void kv_copy(std::span<const KvLayer>, std::int32_t, std::int32_t) override {}
  void kv_read(const Attention&, std::span<const KvLayer>, std::int32_t,
               std::span<std::byte>) const override {}
  void kv_load(const Attention&, std::span<const KvLayer>, std::int32_t,
               std::span<const std::byte>) override {}
  std::int64_t scratch_bytes(const StepLimits&) const override { return 0; }
  void plan(const StepLimits&) override {}
  void step(const Batch&, FunctionRef<void()>) override {}
  void embed(const Batch&, const Weight*, View) override {}
  void norm(View, View, const Norm&, View, Next) override {}
  void linear(View, const Weight&, View) override {}
  void rope(View, const Batch&, const Norm&, const Norm&, const Attention&) override {}
  void kv_write(View, const Batch&, const Attention&, KvLayer) override {}
  void attention(View, const Batch&, const Attention&, KvLayer, View, Next) override {}
  void activate(View, Act, bool, View, Next) override {}
  void moe(View, const MoeWeights&, const Moe&, View) override {}
  void gather(View, const Batch&, View) override {}
  void logits(View, const Weight&, const LogitsReduce&) override {}

 private:
  static PackedBytes inverted(const Weight& w) {
    PackedBytes bytes(w.storage.data(), w.storage.data() + w.storage.bytes());
    for (std::byte& b : bytes) b = ~b;
    return bytes;
  }

  ThreadPool pool_{1};
  CpuBackend cpu_{pool_, scalar_kernels()};
};

class PackedWeights : public testing::Test {
 protected:
  void write(const SyntheticShape& shape) {
    ThreadPool pool(1);
    const SyntheticPlan plan = plan_synthetic(shape, *synthetic_recipe("Q8_0"), 2, 1);
    write_synthetic(plan, path_, pool, [](std::uint64_t, std::uint64_t) {});
  }
  void load(LoadingBackend& backend) {
    const auto checkpoint = Checkpoint::open(path_);
    const ModelOptions options{.context = 16, .pack_cache = folder_.path()};
    const auto model = load_model(*checkpoint, bind_model(*checkpoint), backend, options,
                                  [](std::uint64_t, std::uint64_t) {});
    EXPECT_TRUE(model->warnings.empty());
  }
  /// Loads twice: the first time packs, the second time adopts.
  void expect_uses(const std::vector<Use>& uses) {
    LoadingBackend first, second;
    load(first);
    EXPECT_EQ(first.uses, uses);
    EXPECT_EQ(first.given, first.prepared);  // each once, in packing order
    EXPECT_TRUE(first.adopted.empty());
    load(second);
    EXPECT_EQ(second.uses, uses);
    EXPECT_EQ(second.adopted, first.prepared);
    EXPECT_TRUE(second.prepared.empty() && second.given.empty());
  }

  TempFolder folder_;
  std::string path_ = folder_.path() + "/model.gguf";
  SyntheticShape shape_{.name = "test",
                        .architecture = "qwen3",
                        .layers = 2,
                        .hidden = 64,
                        .ffn = 128,
                        .vocab = 300,
                        .context = 32,
                        .heads = 2,
                        .kv_heads = 2,
                        .head_dim = 32,
                        .rope_theta = 1e4,
                        .norm_eps = 1e-6,
                        .tied = false};
};

constexpr Use kP = Use::kPlain;
constexpr Use kG = Use::kGated;

/// Two layers of qkv, attention output, gate and up, down; then embedding and head.
TEST_F(PackedWeights, OfADenseModel) {
  write(shape_);
  expect_uses({kP, kP, kG, kP, kP, kP, kG, kP, kP, kP});
}

/// Two layers of qkv, attention output, router, gate and up of two experts, down of two experts.
TEST_F(PackedWeights, OfExperts) {
  shape_.architecture = "qwen3moe";
  shape_.experts = 2;
  shape_.experts_used = 1;
  shape_.expert_ffn = 128;
  write(shape_);
  expect_uses({kP, kP, kP, kG, kG, kP, kP, kP, kP, kP, kG, kG, kP, kP, kP, kP});
}

}  // namespace
}  // namespace ingot::testing_support
