// EngineLog: one observer for all that look at an engine.
#pragma once

#include "runtime/observe/engine_metrics.h"
#include "runtime/observe/engine_observer.h"
#include "runtime/observe/step_log.h"
#include "runtime/observe/step_trace.h"

namespace ingot {

/// Who is told; null where nobody is. All of them outlive the log.
struct EngineLogParts {
  StepLog* steps = nullptr;
  EngineMetrics* metrics = nullptr;
  StepTrace* trace = nullptr;
};

/// Passes on what it is told.
class EngineLog final : public EngineObserver {
 public:
  explicit EngineLog(const EngineLogParts& parts) : parts_(parts) {}

  void step(const StepRecord& record) override;
  void state(const StepRecord& record) override;
  void first_token(const RequestRecord& record) override;
  void token(double gap_seconds) override;
  void request(const RequestRecord& record) override;
  void freed(double seconds) override;
  void rejected(Rejection reason, std::size_t requests) override;

 private:
  EngineLogParts parts_;
};

}  // namespace ingot
