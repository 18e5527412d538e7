// --trace: creates the trace file before the engine, and completes it afterwards.
#include "cli/options/trace_file.h"

#include "base/error.h"
#include "base/text.h"
#include "cli/log.h"
#include "cli/options/options.h"

namespace ingot {

namespace {

void warn_of_dropped(const StepTrace& trace) {
  if (trace.dropped() == 0) return;
  log_warning(cat("the trace is full: the last ", trace.dropped(), " records are not in it"));
}

}  // namespace

void add_trace_file_options(CLI::App& app, TraceValues& values, const std::string& name) {
  add_text(app, values.path, name,
           "Write what each step and request took to this file, as JSON for chrome://tracing or "
           "Perfetto");
  add_switch(app, values.profile, "--profile", "Times of ops are in the trace too");
  need(app, "--profile", name);
}

TraceFile::TraceFile(const TraceValues& values, EngineMetrics* metrics)
    : trace_(values.path ? std::optional<StepTrace>(std::in_place, *values.path) : std::nullopt),
      log_({.metrics = metrics, .trace = trace_ ? &*trace_ : nullptr}),
      is_looked_at_(trace_ || metrics != nullptr) {}

TraceFile::~TraceFile() {
  if (!begun_) return;
  try {
    finish();
  } catch (const Error& error) {
    log_warning(error.plain_message());
  }
}

EngineObserver* TraceFile::observer() noexcept {
  begun_ = true;
  return is_looked_at_ ? &log_ : nullptr;
}

void TraceFile::finish() {
  begun_ = false;
  if (!trace_) return;
  warn_of_dropped(*trace_);
  trace_->finish();
}

}  // namespace ingot
