// StepTrace: steps and requests as a file that trace viewers show.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "base/output_file.h"
#include "kv/prefix_index.h"
#include "runtime/observe/step_log.h"

namespace ingot {

/// The life of one request, in seconds since its engine was made. What it did not live to see is
/// absent.
struct RequestRecord {
  std::uint64_t id = 0;
  double queued_seconds = 0;              ///< handed in
  std::optional<double> start_seconds{};  ///< of the first step that it had rows in
  std::optional<double> first_token_seconds{};
  double end_seconds = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;  ///< of the prompt
  PrefixMiss miss{};               ///< where those end, and why
  std::int64_t generated_tokens = 0;
  std::int64_t max_tokens = 0;  ///< that it could generate
  std::int32_t choices = 0;     ///< asked for with its prompt; 0 in those after the first
  bool reads_cache = true;      ///< what was computed before was looked up for it
  std::string_view finish{};    ///< why it ended: "stop"
};

/// Writes records as they come, as JSON in the Trace Event Format, for chrome://tracing or
/// Perfetto.
///
/// A step is a slice with its phases below it, and, where ops were timed, a slice for each kind of
/// op below the forward: as long as all its calls together, in the order of OpKind and not where
/// they were. KV blocks, requests and rows are counters. A request is an asynchronous slice with
/// its waiting, its prompt and its tokens below it, and a mark that says at which token of its
/// prompt the prefix that was there ended, and why.
///
/// Adding neither throws nor keeps anything but text that is not written yet. What fails is said by
/// `finish`. One thread's at a time.
///
/// Source: Trace Event Format, the JSON object format.
class StepTrace {
 public:
  /// Text after which no more events are written, so that a trace that is forgotten fills no disk.
  static constexpr std::int64_t kBytesMax = std::int64_t{1} << 30;

  /// Errors: Error{kIo} when the file cannot be made.
  explicit StepTrace(const std::string& path, std::int64_t bytes_max = kBytesMax);

  void add(const StepRecord& step);
  /// Once the request has ended.
  void add(const RequestRecord& request);
  /// Ends the text and brings the file to its name. Once; without it there is no file.
  ///
  /// Errors: Error{kIo} when that, or anything before it, could not be written.
  void finish();

  /// Records that came after the trace was full or had failed.
  std::int64_t dropped() const { return dropped_; }

 private:
  template <class Record>
  void write(const Record& record);

  OutputFile file_;
  std::string text_;         ///< of the record under way; its memory is used again
  std::int64_t bytes_left_;  ///< negative once it is full
  std::int64_t dropped_ = 0;
  std::exception_ptr failed_;
};

}  // namespace ingot
