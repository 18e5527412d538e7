// --trace: the steps of an engine as a file for trace viewers.
#pragma once

#include <optional>
#include <string>

#include "runtime/observe/engine_log.h"

namespace CLI {
class App;
}

namespace ingot {

/// Values of the flags.
struct TraceValues {
  std::optional<std::string> path;
  bool profile = false;  ///< with the times of ops
};

/// Declares the option `name` of the trace's path, and --profile.
void add_trace_file_options(CLI::App& app, TraceValues& values, const std::string& name);

/// A trace, made before its engine and finished after it. When a command fails or is interrupted,
/// the file has the steps until then.
class TraceFile {
 public:
  /// No trace without a path. `metrics` may be null.
  ///
  /// Errors: Error{kIo} when the file cannot be made.
  explicit TraceFile(const TraceValues& values, EngineMetrics* metrics = nullptr);
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  /// For the engine; null without a trace.
  EngineObserver* observer() noexcept;
  /// Once the engine is gone. Errors: Error{kIo} when the trace could not be written.
  void finish();

 private:
  std::optional<StepTrace> trace_;
  EngineLog log_;
  bool is_looked_at_;
  bool begun_ = false;  ///< there was an engine: an older file is not replaced by nothing
};

}  // namespace ingot
