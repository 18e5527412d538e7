// StepTrace: writes steps and requests to a file that trace viewers show.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "base/output_file.h"
#include "kv/prefix_index.h"
#include "runtime/observe/step_log.h"
#include "runtime/outcome.h"

namespace ingot {

/// The times and counts of one request, in seconds since its engine was made. Times of events that
/// did not happen are absent.
struct RequestRecord {
  std::uint64_t id = 0;
  double queued_seconds = 0;              ///< when it was submitted
  std::optional<double> start_seconds{};  ///< its first step
  std::optional<double> first_token_seconds{};
  double end_seconds = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;  ///< prompt tokens that were cached
  PrefixMiss miss{};               ///< where the cached tokens end, and why
  std::int64_t generated_tokens = 0;
  std::int64_t max_tokens = 0;  ///< most tokens that it could generate
  std::int32_t choices = 0;     ///< choices of its prompt; 0 for all but the first one
  bool reads_cache = true;      ///< its prompt was looked up in the prefix index
  std::optional<FinishReason> finish{};
};

/// Writes records as they come, as JSON in the Trace Event Format, for chrome://tracing or
/// Perfetto.
///
/// A step is a slice with its phases below it. If ops were timed, each kind of op has a slice below
/// the forward, as long as all its calls together, in the order of OpKind. KV blocks, requests and
/// rows are counters. A request is an asynchronous slice with its waiting, prompt and tokens below
/// it, and a mark at the token of its prompt where the cached prefix ended, with the reason.
///
/// `add` throws nothing and keeps only text that is not written yet; `finish` reports failures. One
/// thread at a time.
///
/// Source: Trace Event Format, the JSON object format.
class StepTrace {
 public:
  /// 1 GiB: the largest file, so that a forgotten trace does not fill the disk.
  static constexpr std::int64_t kBytesMax = std::int64_t{1} << 30;

  /// Errors: Error{kIo} when the file cannot be created.
  explicit StepTrace(const std::string& path, std::int64_t bytes_max = kBytesMax);

  void add(const StepRecord& step);
  /// A request that has ended.
  void add(const RequestRecord& request);
  /// Completes the file and gives it its name. Call it once; without it there is no file.
  ///
  /// Errors: Error{kIo} when any part of it could not be written.
  void finish();

  /// Records that came after the trace was full or had failed.
  std::int64_t dropped() const { return dropped_; }

 private:
  template <class Record>
  void write(const Record& record);

  OutputFile file_;
  std::string text_;         ///< the present record; its memory is used again
  std::int64_t bytes_left_;  ///< negative once it is full
  std::int64_t dropped_ = 0;
  std::exception_ptr failed_;
};

}  // namespace ingot
