// StepTrace: writes steps and requests as a trace file for chrome://tracing or Perfetto.
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

/// Times and counts of one request. Each time is in seconds since the engine was created. The time
/// of an event that did not happen is empty.
struct RequestRecord {
  std::uint64_t id = 0;
  double queued_seconds = 0;              ///< time of submission
  std::optional<double> start_seconds{};  ///< time at which its first step began
  std::optional<double> first_token_seconds{};
  double end_seconds = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;  ///< prompt tokens that were found in the prefix cache
  PrefixMiss miss{};               ///< where the cached prefix ended, and why
  std::int64_t generated_tokens = 0;
  std::int64_t max_tokens = 0;  ///< limit on the number of generated tokens
  std::int32_t choices = 0;     ///< number of choices, in the first choice's record; 0 in others
  bool reads_cache = true;      ///< whether the prompt is looked up in the prefix cache
  std::optional<FinishReason> finish{};
};

/// Writes each record as JSON in the Trace Event Format when `add` gets it.
///
/// A step is a slice, and its phases are slices below it. If ops were timed, "forward" has a slice
/// for each kind of op, in the order of OpKind. This slice is the total time of the op's calls. KV
/// blocks, requests and rows are counters. A request is an asynchronous slice, and its waiting,
/// prompt and tokens are slices below it. A mark at the request's start says where its cached
/// prefix ended, and why.
///
/// `add` throws nothing; `finish` reports failures. Only one thread at a time may use a StepTrace.
///
/// Source: Trace Event Format, the JSON object format.
class StepTrace {
 public:
  /// Largest size of the file, 1 GiB, so that a forgotten trace does not fill the disk.
  static constexpr std::int64_t kBytesMax = std::int64_t{1} << 30;

  /// Creates the file. Errors: Error{kIo} if this fails.
  explicit StepTrace(const std::string& path, std::int64_t bytes_max = kBytesMax);

  void add(const StepRecord& step);
  /// Adds a request that has ended.
  void add(const RequestRecord& request);
  /// Completes the file and renames it to its path. Call it once; without it, no file remains.
  ///
  /// Errors: Error{kIo} if any part of the file could not be written.
  void finish();

  /// Returns the number of records that were not written because the trace was full or had failed.
  std::int64_t dropped() const { return dropped_; }

 private:
  template <class Record>
  void write(const Record& record);

  OutputFile file_;
  std::string text_;         ///< text of the current record; a member, to reuse its memory
  std::int64_t bytes_left_;  ///< bytes that the file may still grow by; negative: the file is full
  std::int64_t dropped_ = 0;
  std::exception_ptr failed_;
};

}  // namespace ingot
