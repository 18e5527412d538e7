// EngineLog: an EngineObserver that passes events to the step log, the metrics and the trace.
#pragma once

#include "runtime/observe/engine_metrics.h"
#include "runtime/observe/engine_observer.h"
#include "runtime/observe/step_log.h"
#include "runtime/observe/step_trace.h"

namespace ingot {

/// The receivers of events. Each receiver may be null. Each must outlive the EngineLog.
struct EngineLogParts {
  StepLog* steps = nullptr;
  EngineMetrics* metrics = nullptr;
  StepTrace* trace = nullptr;
};

/// Passes every event to the receivers that use it.
class EngineLog final : public EngineObserver {
 public:
  explicit EngineLog(const EngineLogParts& parts) : parts_(parts) {}

  void step(const StepRecord& record) override {
    if (parts_.steps != nullptr) parts_.steps->add(record);
    if (parts_.metrics != nullptr) parts_.metrics->step(record);
    if (parts_.trace != nullptr) parts_.trace->add(record);
  }
  void state(const StepRecord& record) override {
    if (parts_.metrics != nullptr) parts_.metrics->state(record);
  }
  void first_token(const RequestRecord& record) override {
    if (parts_.metrics != nullptr) parts_.metrics->first_token(record);
  }
  void token(double gap_seconds) override {
    if (parts_.metrics != nullptr) parts_.metrics->token(gap_seconds);
  }
  void request(const RequestRecord& record) override {
    if (parts_.metrics != nullptr) parts_.metrics->request(record);
    if (parts_.trace != nullptr) parts_.trace->add(record);
  }
  void freed(double seconds) override {
    if (parts_.metrics != nullptr) parts_.metrics->freed(seconds);
  }
  void rejected(Rejection reason, std::size_t requests) override {
    if (parts_.metrics != nullptr) parts_.metrics->rejected(reason, requests);
  }

 private:
  EngineLogParts parts_;
};

}  // namespace ingot
