// --trace: writes an engine's steps to a file for trace viewers.
#pragma once

#include <optional>
#include <string>

#include "runtime/observe/engine_log.h"

namespace CLI {
class App;
}

namespace ingot {

/// Values of the trace's flags.
struct TraceValues {
  std::optional<std::string> path;
  bool profile = false;  ///< true: the trace also has the times of ops
};

/// Declares the option `name`, which takes the trace's path, and --profile.
void add_trace_file_options(CLI::App& app, TraceValues& values, const std::string& name);

/// A trace file. Create it before the engine, and call `finish` after the engine is destroyed. If a
/// command fails or is interrupted, the destructor completes the file with the steps so far.
class TraceFile {
 public:
  /// Creates the trace file if `values` has a path. `metrics` may be null.
  ///
  /// Errors: Error{kIo} if the file cannot be created.
  explicit TraceFile(const TraceValues& values, EngineMetrics* metrics = nullptr);
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  /// Returns the observer for the engine; null if there is neither a trace nor metrics.
  EngineObserver* observer() noexcept;
  /// Completes the file after the engine is gone. Errors: Error{kIo} if it cannot be written.
  void finish();

 private:
  std::optional<StepTrace> trace_;
  EngineLog log_;
  bool is_looked_at_;
  bool begun_ = false;  ///< true from `observer` to `finish`: the destructor must complete the file
};

}  // namespace ingot
