// ProfiledBackend: every call reaches the other backend unchanged, and layers begin and end at the
// right ops.
#include "backend/profiled_backend.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/text.h"

namespace ingot {
namespace {

std::string text(const View& v) {
  return cat(reinterpret_cast<std::uintptr_t>(v.data), ":", v.rows, "x", v.cols);
}
template <class T>
std::string address(const T& object) {
  return cat(reinterpret_cast<std::uintptr_t>(&object));
}

/// Records its calls and computes nothing.
class Listener final : public Backend {
 public:
  std::vector<std::string> heard;
  std::chrono::microseconds norm_in_place{0};  ///< time of a norm in place

  const char* name() const override { return "listener"; }
  Buffer allocate(std::int64_t bytes) override { return allocate_host(hear(bytes, "allocate")); }
  std::string_view numerics() const override { return "an order"; }
  std::string unsupported(const ModelOps& model) const override {
    return cat("activation ", static_cast<int>(model.act));
  }
  std::int64_t free_memory() const override { return 55; }
  std::int32_t steps_ahead() const override { return 2; }
  bool draws() const override { return true; }
  void wait() override { hear("wait"); }
  void drain() noexcept override { hear("drain"); }
  Weight prepare(std::span<const View> parts, std::span<const float> bias, Use use) override {
    hear("prepare", parts.size(), bias.size(), static_cast<int>(use));
    return {};
  }
  std::uint32_t packed_layout() const override { return 77; }
  Weight adopt(std::span<const View> parts, std::span<const float> bias,
               std::span<const std::byte> packed, Use use) override {
    hear("adopt", parts.size(), bias.size(), packed.size(), static_cast<int>(use));
    return {};
  }
  void packed(const Weight& w, std::span<std::byte> out) const override {
    out[0] = static_cast<std::byte>(w.rows);
  }
  std::int64_t prepared_bytes(std::span<const View> parts, bool bias, Use) const override {
    return std::ssize(parts) + (bias ? 100 : 0);
  }
  std::int64_t kv_block_bytes(const Attention& a, KvType type) const override {
    return a.heads + 1000 * static_cast<int>(type);
  }
  bool host_memory() const override { return false; }
  void write(std::byte*, std::span<const std::byte> from) override { hear("write", from.size()); }
  void read(const std::byte*, std::span<std::byte> to) const override { to[0] = std::byte{41}; }
  void kv_copy(std::span<const KvLayer> layers, std::int32_t from, std::int32_t to) override {
    hear("kv_copy", layers.size(), from, to);
  }
  void kv_read(const Attention& a, std::span<const KvLayer>, std::int32_t block,
               std::span<std::byte> out) const override {
    out[0] = static_cast<std::byte>(a.heads + block);
  }
  void kv_load(const Attention& a, std::span<const KvLayer> layers, std::int32_t block,
               std::span<const std::byte> in) override {
    hear("kv_load", a.heads, layers.size(), block, in.size());
  }
  std::int64_t scratch_bytes(const StepLimits& limits) const override { return limits.rows; }
  void plan(const StepLimits& limits) override { hear("plan", limits.rows); }
  void step(const Batch& batch, FunctionRef<void()> body) override {
    hear("step", address(batch));
    body();
    hear("end");
  }
  void embed(const Batch& batch, const Embedding& e, View x) override {
    hear("embed", address(batch), address(e), text(x));
  }
  void scale(View x, float factor) override { hear("scale", text(x), factor); }
  void linear_heads(View in, std::span<const Weight> w, std::int32_t extra, View out) override {
    hear("linear_heads", text(in), w.size(), extra, text(out));
  }
  void norm(View x, Term add, const Norm& n, View out, Next next) override {
    hear("norm", text(x), text(add.rows), add.factor, address(n), text(out),
         static_cast<int>(next));
    const auto start = std::chrono::steady_clock::now();
    while (out.data == x.data && std::chrono::steady_clock::now() - start < norm_in_place) {
    }
  }
  void linear(View in, const Weight& w, View out) override {
    hear("linear", text(in), address(w), text(out));
  }
  void rope(View qkv, const Batch& b, const HeadNorms& n, const Attention& a) override {
    hear("rope", text(qkv), address(b), address(n), address(a));
  }
  void kv_write(View qkv, const Batch& b, const Attention& a, KvLayer kv) override {
    hear("kv_write", text(qkv), address(b), address(a), kv.blocks);
  }
  void attention(View qkv, const Batch& b, const Attention& a, KvLayer kv, View out,
                 Next next) override {
    hear("attention", text(qkv), address(b), address(a), kv.blocks, text(out),
         static_cast<int>(next));
  }
  void activate(View in, Act act, bool gated, View out, Next next) override {
    hear("activate", text(in), static_cast<int>(act), gated, text(out), static_cast<int>(next));
  }
  void glu(View gate, View up, Act act, View out, Next next) override {
    hear("glu", text(gate), text(up), static_cast<int>(act), text(out), static_cast<int>(next));
  }
  void add_gated(View x, View y, View gate) override {
    hear("add_gated", text(x), text(y), text(gate));
  }
  void moe(View in, const MoeWeights& w, const Moe& m, View out) override {
    hear("moe", text(in), address(w), address(m), text(out));
  }
  void rope_write(View, const Batch&, const HeadNorms&, const Attention&, KvLayer) override {
    hear("rope_write");
  }
  void linear_activate(View, const Weight&, Act, bool, View, View, Next) override {
    hear("linear_activate");
  }
  void gather(View x, const Batch& batch, View out) override {
    hear("gather", text(x), address(batch), text(out));
  }
  void fetch(View rows, std::span<float> out) override { hear("fetch", text(rows), out.size()); }
  void logits(View in, const Head& head, const LogitsReduce& reduce) override {
    hear("logits", text(in), address(head), address(reduce));
  }
  void pool(View x, const Batch& batch, Pooling pooling, View out) override {
    hear("pool", text(x), address(batch), static_cast<int>(pooling), text(out));
  }
  void normalise(View x) override { hear("normalise", text(x)); }

 private:
  std::int64_t hear(std::int64_t value, std::string_view what) {
    heard.push_back(cat(what, " ", value));
    return value;
  }
  template <class... Values>
  void hear(std::string_view what, const Values&... values) {
    std::string line(what);
    ((line += cat(" ", values)), ...);
    heard.push_back(line);
  }
};

/// Arguments of ops, all different.
struct Arguments {
  std::vector<float> memory = std::vector<float>(100);
  View a = f32_view(memory.data(), 2, 3);
  View b = f32_view(memory.data() + 10, 2, 4);
  View c = f32_view(memory.data() + 20, 2, 5);
  Weight w, w2;
  Embedding embedding{.tokens = &w};
  Head head{.weight = &w};
  Norm n, n2;
  HeadNorms heads;
  Attention attention;
  Moe moe;
  MoeWeights experts;
  LogitsReduce reduce;
  std::vector<std::int32_t> ids{1, 2, 3};
  std::vector<std::int32_t> q_start{0, 1, 2};
  std::vector<std::int32_t> kv_len{1, 1};
  std::vector<std::int32_t> positions{0, 0};
  Batch batch{.tokens = {},
              .embeddings = {},
              .types = {},
              .positions = positions,
              .q_start = q_start,
              .kv_len = kv_len,
              .groups = {},
              .out_rows = {},
              .pool_seqs = {},
              .adapter = {},
              .adapter_from = {},
              .adapters = {}};
};

void call_everything(Backend& be, Arguments& x) {
  be.allocate(64);
  const std::vector<View> parts(3);
  const std::vector<float> bias(4);
  const std::vector<std::byte> packed(5);
  be.prepare(parts, bias, Use::kGated);
  be.adopt(parts, bias, packed, Use::kGated);
  be.upload(bias);
  be.kv_copy({}, 2, 3);
  be.plan({.rows = 9});
  const KvLayer kv{.blocks = 13};
  be.kv_load({.heads = 3}, {&kv, 1}, 7, packed);
  be.step(x.batch, [&] {
    be.embed(x.batch, x.embedding, x.a);
    be.norm(x.a, {x.b, 0.5f}, x.n, x.c, Next::kLinears);
    be.norm(x.a, {}, x.n2, x.a, Next::kAnyone);
    be.scale(x.a, 3);
    be.linear(x.a, x.w2, x.b);
    be.linear_heads(x.a, {&x.w, 1}, 7, x.c);
    be.rope(x.a, x.batch, x.heads, x.attention);
    be.kv_write(x.b, x.batch, x.attention, kv);
    be.attention(x.c, x.batch, x.attention, kv, x.a, Next::kLinears);
    be.attention(x.c, x.batch, x.attention, kv, x.b, Next::kAnyone);
    be.activate(x.a, Act::kGeluErf, true, x.b, Next::kLinears);
    be.activate(x.a, Act::kSilu, false, x.b, Next::kAnyone);
    be.glu(x.a, x.b, Act::kGeluTanh, x.c, Next::kLinears);
    be.add_gated(x.a, x.b, x.c);
    be.moe(x.b, x.experts, x.moe, x.c);
    be.gather(x.a, x.batch, x.c);
    be.logits(x.c, x.head, x.reduce);
    be.pool(x.a, x.batch, Pooling::kLast, x.c);
    be.normalise(x.b);
    be.fetch(x.b, x.memory);
  });
  be.wait();
  be.drain();
}

TEST(ProfiledBackend, PassesEveryCallOn) {
  Arguments arguments;
  Listener alone, behind;
  ProfiledBackend profiled(behind);
  call_everything(alone, arguments);
  call_everything(profiled, arguments);
  EXPECT_EQ(alone.heard.size(), 8u + 2 + 20 + 2);
  EXPECT_EQ(behind.heard, alone.heard);
  EXPECT_STREQ(profiled.name(), "listener");
  EXPECT_EQ(profiled.packed_layout(), 77u);
  EXPECT_EQ(profiled.prepared_bytes({}, true, Use::kPlain), 100);
  EXPECT_EQ(profiled.kv_block_bytes({.heads = 5}, KvType::kF16), 1005);
  EXPECT_EQ(profiled.scratch_bytes({.rows = 6}), 6);
  std::byte read{};
  profiled.kv_read({.heads = 2}, {}, 40, {&read, 1});
  EXPECT_EQ(read, std::byte{42});
  profiled.read(nullptr, {&read, 1});
  EXPECT_EQ(read, std::byte{41});
  Weight w;
  w.rows = 43;
  profiled.packed(w, {&read, 1});
  EXPECT_EQ(read, std::byte{43});
  EXPECT_FALSE(profiled.host_memory());
  EXPECT_EQ(profiled.numerics(), "an order");
  EXPECT_EQ(profiled.unsupported({.act = Act::kGeluErf}), "activation 2");
  EXPECT_EQ(profiled.free_memory(), 55);
  EXPECT_EQ(profiled.steps_ahead(), 2);
  EXPECT_TRUE(profiled.draws());
  const StepProfile profile = profiled.profile();
  for (std::size_t k = 0; k < kOpKinds; ++k) EXPECT_GE(profile.ops[k].calls, 1) << k;
}

TEST(ProfiledBackend, FusedOpsAreMeasuredOneByOne) {
  Arguments x;
  Listener one_by_one, behind;
  one_by_one.rope(x.a, x.batch, x.heads, x.attention);
  one_by_one.kv_write(x.a, x.batch, x.attention, {});
  one_by_one.linear(x.a, x.w, x.b);
  one_by_one.activate(x.b, Act::kGeluErf, true, x.c, Next::kLinears);
  ProfiledBackend profiled(behind);
  profiled.rope_write(x.a, x.batch, x.heads, x.attention, {});
  profiled.linear_activate(x.a, x.w, Act::kGeluErf, true, x.b, x.c, Next::kLinears);
  EXPECT_EQ(behind.heard, one_by_one.heard);
}

/// One layer with norms of every kind: before, behind a sublayer in place, and behind the sum.
void layer(Backend& be, Arguments& x, bool experts) {
  const auto norms = [&](auto sublayer) {
    be.norm(x.a, x.b, x.n, x.c, Next::kLinears);
    sublayer();
    be.norm(x.b, {}, x.n, x.b, Next::kAnyone);
    be.norm(x.a, x.b, x.n, x.a, Next::kAnyone);
  };
  norms([&] {
    be.linear(x.c, x.w, x.b);
    be.attention(x.b, x.batch, x.attention, {}, x.b, Next::kLinears);
    be.linear(x.b, x.w, x.b);
  });
  norms([&] {
    if (experts) return be.moe(x.c, x.experts, x.moe, x.b);
    be.linear(x.c, x.w, x.b);
    be.activate(x.b, Act::kSilu, true, x.b, Next::kLinears);
    be.linear(x.b, x.w, x.b);
  });
}

constexpr std::chrono::microseconds kNormInPlace{300};

/// A step through layers, with experts or without, between an embedding and logits.
StepProfile profile_of(std::vector<bool> layers) {
  Arguments x;
  Listener listener;
  listener.norm_in_place = kNormInPlace;
  ProfiledBackend be(listener);
  be.step(x.batch, [&] {
    be.embed(x.batch, x.embedding, x.a);
    for (const bool experts : layers) layer(be, x, experts);
    be.norm(x.a, x.b, {}, {}, Next::kAnyone);
    be.gather(x.a, x.batch, x.c);
    be.norm(x.c, {}, x.n, x.c, Next::kLinears);
    be.logits(x.c, x.head, x.reduce);
  });
  return be.profile();
}

TEST(ProfiledBackend, ALayersNormsAreItsOwn) {
  const auto seconds = [](const OpSeconds& s, OpKind kind) {
    return s[static_cast<std::size_t>(kind)];
  };
  const double norm = std::chrono::duration<double>(kNormInPlace).count();
  for (const auto& layers : {std::vector{false, false, false}, std::vector{true, false, true}}) {
    const StepProfile profile = profile_of(layers);
    ASSERT_EQ(profile.layers.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_GE(seconds(profile.layers[i], OpKind::kNorm), 4 * norm);
      EXPECT_EQ(seconds(profile.layers[i], OpKind::kMoe) > 0, layers[i]);
      EXPECT_EQ(seconds(profile.layers[i], OpKind::kActivate) > 0, !layers[i]);
    }
    // The embedding and the model's end are all that is outside.
    EXPECT_NEAR(seconds(profile.outside_layers(), OpKind::kLinear), 0, 1e-9);
    EXPECT_GE(seconds(profile.outside_layers(), OpKind::kNorm), norm);
  }
}

TEST(ProfiledBackend, WithoutLayersAllIsOutside) {
  const StepProfile profile = profile_of({});
  EXPECT_TRUE(profile.layers.empty());
  EXPECT_EQ(profile.steps, 1);
  EXPECT_EQ(profile.op(OpKind::kNorm).calls, 2);
}

TEST(ProfiledBackend, WhatIsCalledBetweenStepsCountsNowhere) {
  Arguments x;
  Listener listener;
  ProfiledBackend be(listener);
  be.gather(x.a, x.batch, x.c);
  be.linear(x.a, x.w, x.b);
  call_everything(be, x);
  EXPECT_EQ(be.profile().op(OpKind::kGather).calls, 1);
  EXPECT_EQ(be.profile().op(OpKind::kLinear).calls, 1);
}

TEST(StepKindOfABatch, IsThatOfItsRows) {
  const auto kind = [](std::vector<std::int32_t> q_start) {
    Arguments x;
    x.batch.q_start = q_start;
    x.batch.kv_len = std::span(x.ids).first(q_start.size() - 1);
    return step_kind(x.batch);
  };
  EXPECT_EQ(kind({0, 1}), StepKind::kDecode);
  EXPECT_EQ(kind({0, 1, 2, 3}), StepKind::kDecode);
  EXPECT_EQ(kind({0, 2}), StepKind::kPrefill);
  EXPECT_EQ(kind({0, 2, 7}), StepKind::kPrefill);
  EXPECT_EQ(kind({0, 1, 7}), StepKind::kMixed);
  EXPECT_EQ(kind({0, 6, 7}), StepKind::kMixed);
}

}  // namespace
}  // namespace ingot
