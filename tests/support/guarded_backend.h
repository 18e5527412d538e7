// GuardedBackend: the CPU with device memory that the host cannot touch outside ops and copies.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "backend/backend.h"

namespace ingot::testing_support {

/// Passes everything to another backend. What `allocate` gives is unreadable and unwritable except
/// within a method of this backend, so that code which takes it for host memory ends with a fault.
class GuardedBackend final : public Backend {
 public:
  /// `inner` outlives this.
  explicit GuardedBackend(Backend& inner) : inner_(inner) {}

  const char* name() const override { return "guarded"; }
  bool host_memory() const override { return false; }
  Buffer allocate(std::int64_t bytes) override {
    if (bytes == 0) return {};
    const auto size = static_cast<std::size_t>(bytes);
    void* data = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    INGOT_CHECK(data != MAP_FAILED, "no memory for ", bytes, " bytes");
    regions().add(static_cast<std::byte*>(data), size);
    return {static_cast<std::byte*>(data), bytes, free_region};
  }
  void write(std::byte* to, std::span<const std::byte> from) override {
    const Unlocked unlocked;
    inner_.write(to, from);
  }
  void read(const std::byte* from, std::span<std::byte> to) const override {
    const Unlocked unlocked;
    inner_.read(from, to);
  }
  Weight prepare(std::span<const View> parts, std::span<const float> bias) override {
    return inner_.prepare(parts, bias);
  }
  std::int64_t prepared_bytes(std::span<const View> parts, bool bias) const override {
    return inner_.prepared_bytes(parts, bias);
  }
  std::int64_t kv_block_bytes(const Attention& a, KvType type) const override {
    return inner_.kv_block_bytes(a, type);
  }
  void kv_copy(std::span<const KvLayer> layers, std::int32_t from, std::int32_t to) override {
    const Unlocked unlocked;
    inner_.kv_copy(layers, from, to);
  }
  void kv_read(const Attention& a, std::span<const KvLayer> layers, std::int32_t block,
               std::span<std::byte> out) const override {
    const Unlocked unlocked;
    inner_.kv_read(a, layers, block, out);
  }
  void kv_load(const Attention& a, std::span<const KvLayer> layers, std::int32_t block,
               std::span<const std::byte> in) override {
    const Unlocked unlocked;
    inner_.kv_load(a, layers, block, in);
  }
  std::int64_t scratch_bytes(const StepLimits& limits) const override {
    return inner_.scratch_bytes(limits);
  }
  void plan(const StepLimits& limits) override { inner_.plan(limits); }

  void step(const Batch& batch, FunctionRef<void()> body) override { inner_.step(batch, body); }
  void embed(const Batch& batch, const Weight* table, View x) override {
    const Unlocked unlocked;
    inner_.embed(batch, table, x);
  }
  void norm(View x, View add, const Norm& n, View out, Next next) override {
    const Unlocked unlocked;
    inner_.norm(x, add, n, out, next);
  }
  void linear(View in, const Weight& w, View out) override {
    const Unlocked unlocked;
    inner_.linear(in, w, out);
  }
  void rope(View qkv, const Batch& b, const Norm& q_norm, const Norm& k_norm,
            const Attention& a) override {
    const Unlocked unlocked;
    inner_.rope(qkv, b, q_norm, k_norm, a);
  }
  void kv_write(View qkv, const Batch& b, const Attention& a, KvLayer kv) override {
    const Unlocked unlocked;
    inner_.kv_write(qkv, b, a, kv);
  }
  void attention(View qkv, const Batch& b, const Attention& a, KvLayer kv, View out,
                 Next next) override {
    const Unlocked unlocked;
    inner_.attention(qkv, b, a, kv, out, next);
  }
  void activate(View in, Act act, bool gated, View out, Next next) override {
    const Unlocked unlocked;
    inner_.activate(in, act, gated, out, next);
  }
  void moe(View in, const MoeWeights& w, const Moe& m, View out) override {
    const Unlocked unlocked;
    inner_.moe(in, w, m, out);
  }
  void gather(View x, std::span<const std::int32_t> rows, View out) override {
    const Unlocked unlocked;
    inner_.gather(x, rows, out);
  }
  void logits(View in, const Weight& head, const LogitsReduce& reduce) override {
    const Unlocked unlocked;
    inner_.logits(in, head, reduce);
  }

 private:
  /// All allocations of all guarded backends, which are locked and unlocked together.
  class Regions {
   public:
    void add(std::byte* data, std::size_t bytes) {
      const std::lock_guard lock(mutex_);
      all_.emplace(data, bytes);
    }
    void remove(std::byte* data) {
      const std::lock_guard lock(mutex_);
      all_.erase(data);
    }
    void protect(int access) {
      const std::lock_guard lock(mutex_);
      for (const auto& [data, bytes] : all_) {
        INGOT_CHECK(mprotect(data, bytes, access) == 0, "memory that cannot be protected");
      }
    }

   private:
    std::mutex mutex_;
    std::map<std::byte*, std::size_t> all_;
  };
  static Regions& regions() {
    static Regions all;
    return all;
  }
  static void free_region(std::byte* data, std::int64_t bytes) {
    regions().remove(data);
    munmap(data, static_cast<std::size_t>(bytes));
  }
  /// Allows access while it lives. One thread at a time has one.
  struct Unlocked {
    Unlocked() { regions().protect(PROT_READ | PROT_WRITE); }
    ~Unlocked() { regions().protect(PROT_NONE); }
    Unlocked(const Unlocked&) = delete;
    Unlocked& operator=(const Unlocked&) = delete;
  };

  Backend& inner_;
};

}  // namespace ingot::testing_support
