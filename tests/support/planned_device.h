// PlannedDevice: a device with its own memory, for tests that plan and do not compute.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "support/stub_backend.h"

namespace ingot::testing_support {

/// Takes sizes from another backend. Works two steps ahead. To allocate anything is a bug.
class PlannedDevice final : public StubBackend {
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
  Buffer allocate(std::int64_t bytes) override {
    INGOT_CHECK(false, bytes, " bytes on a device that only plans");
    return {};
  }
  std::int32_t steps_ahead() const override { return 2; }
  std::int64_t prepared_bytes(std::span<const View> parts, bool bias, Use use) const override {
    return sizes_.prepared_bytes(parts, bias, use);
  }
  std::int64_t kv_block_bytes(const Attention& a, KvType type) const override {
    return sizes_.kv_block_bytes(a, type);
  }
  std::int64_t scratch_bytes(const StepLimits& limits) const override {
    return sizes_.scratch_bytes(limits);
  }

 private:
  const Backend& sizes_;
  std::function<std::string(const ModelOps&)> refuse_;
};

}  // namespace ingot::testing_support
