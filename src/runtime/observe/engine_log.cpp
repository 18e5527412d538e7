// Passing on.
#include "runtime/observe/engine_log.h"

namespace ingot {

void EngineLog::step(const StepRecord& record) {
  if (parts_.steps != nullptr) parts_.steps->add(record);
  if (parts_.metrics != nullptr) parts_.metrics->step(record);
  if (parts_.trace != nullptr) parts_.trace->add(record);
}

void EngineLog::state(const StepRecord& record) {
  if (parts_.metrics != nullptr) parts_.metrics->state(record);
}

void EngineLog::first_token(const RequestRecord& record) {
  if (parts_.metrics != nullptr) parts_.metrics->first_token(record);
}

void EngineLog::token(double gap_seconds) {
  if (parts_.metrics != nullptr) parts_.metrics->token(gap_seconds);
}

void EngineLog::request(const RequestRecord& record) {
  if (parts_.metrics != nullptr) parts_.metrics->request(record);
  if (parts_.trace != nullptr) parts_.trace->add(record);
}

void EngineLog::freed(double seconds) {
  if (parts_.metrics != nullptr) parts_.metrics->freed(seconds);
}

void EngineLog::rejected(Rejection reason, std::size_t requests) {
  if (parts_.metrics != nullptr) parts_.metrics->rejected(reason, requests);
}

}  // namespace ingot
