// Loading with a pack cache: each weight's packed bytes go through the backend, out and in again.
#include <gtest/gtest.h>

#include <algorithm>

#include "backend/cpu/cpu_backend.h"
#include "base/temp_folder_test_util.h"
#include "convert/synthetic.h"
#include "model/model.h"
#include "support/stub_backend.h"

namespace ingot::testing_support {
namespace {

using PackedBytes = std::vector<std::byte>;

/// Packs weights as the CPU does, and records what is loaded. With its own memory, `packed` inverts
/// all bits, so that bytes that bypass it are other bytes.
class LoadingBackend final : public StubBackend {
 public:
  explicit LoadingBackend(bool host_memory) : host_memory_(host_memory) {}

  std::vector<Use> uses;                   ///< the use in each `prepare` or `adopt`
  std::vector<PackedBytes> prepared;       ///< packed bytes of each `prepare`
  mutable std::vector<PackedBytes> given;  ///< bytes of each `packed`
  std::vector<PackedBytes> adopted;        ///< bytes of each `adopt`

  /// Each memory has its own files in a pack cache.
  const char* name() const override { return host_memory_ ? "host" : "device"; }
  bool host_memory() const override { return host_memory_; }
  Buffer allocate(std::int64_t bytes) override { return cpu_.allocate(bytes); }
  std::uint32_t packed_layout() const override { return 1; }
  std::int64_t prepared_bytes(std::span<const View> parts, bool bias, Use use) const override {
    return cpu_.prepared_bytes(parts, bias, use);
  }
  Weight prepare(std::span<const View> parts, std::span<const float> bias, Use use) override {
    Weight w = cpu_.prepare(parts, bias, use);
    uses.push_back(use);
    prepared.push_back(packed_bytes(w));
    return w;
  }
  void packed(const Weight& w, std::span<std::byte> out) const override {
    given.push_back(packed_bytes(w));
    ASSERT_EQ(out.size(), given.back().size());
    std::ranges::copy(given.back(), out.begin());
  }
  Weight adopt(std::span<const View> parts, std::span<const float> bias,
               std::span<const std::byte> packed, Use use) override {
    uses.push_back(use);
    adopted.emplace_back(packed.begin(), packed.end());
    return cpu_.adopt(parts, bias, packed, use);
  }

 private:
  PackedBytes packed_bytes(const Weight& w) const {
    PackedBytes bytes(w.storage.data(), w.storage.data() + w.storage.bytes());
    for (std::byte& b : bytes) b = host_memory_ ? b : ~b;
    return bytes;
  }

  bool host_memory_;
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
    const ModelOptions options{.context = 16, .pack_cache = {.folder = folder_.path()}};
    const auto model = load_model(*checkpoint, bind_model(*checkpoint), backend, options,
                                  [](std::uint64_t, std::uint64_t) {});
    EXPECT_TRUE(model->warnings.empty());
  }
  void expect_uses(const std::vector<Use>& uses) {
    expect_uses(uses, true);
    expect_uses(uses, false);
  }
  /// Loads twice: the first time packs, the second time adopts.
  void expect_uses(const std::vector<Use>& uses, bool host_memory) {
    SCOPED_TRACE(host_memory);
    LoadingBackend first(host_memory), second(host_memory);
    load(first);
    EXPECT_EQ(first.uses, uses);
    EXPECT_TRUE(first.adopted.empty());
    if (host_memory) {
      EXPECT_TRUE(first.given.empty()) << "a copy of what the host can read in place";
    } else {
      EXPECT_EQ(first.given, first.prepared);  // each once, in packing order
    }
    load(second);
    EXPECT_EQ(second.uses, uses);
    EXPECT_EQ(second.adopted, first.prepared);
    EXPECT_TRUE(second.prepared.empty() && second.given.empty());
  }

  TempFolder folder_;
  std::string path_ = folder_.path() + "/model.gguf";
  static constexpr std::string_view kHeadNorms[] = {"attn_q_norm.weight", "attn_k_norm.weight"};
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
                        .tied = false,
                        .tensors = kHeadNorms};
};

constexpr Use kP = Use::kPlain;
constexpr Use kG = Use::kGated;
constexpr Use kE = Use::kExact;

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
  expect_uses({kP, kP, kE, kG, kG, kP, kP, kP, kP, kE, kG, kG, kP, kP, kP, kP});
}

}  // namespace
}  // namespace ingot::testing_support
