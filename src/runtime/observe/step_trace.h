// StepTrace: writes steps and requests as a trace file for chrome://tracing or Perfetto.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/output_file.h"
#include "kv/prefix_index.h"
#include "runtime/adapters/adapter_list.h"
#include "runtime/observe/step_log.h"
#include "runtime/outcome.h"

namespace ingot {

/// Times and counts of one request. Each time is in seconds since the engine was created. The time
/// of an event that did not happen is empty.
struct RequestRecord {
  std::uint64_t id = 0;
  double queued_seconds = 0;              ///< time of submission
  std::optional<double> start_seconds{};  ///< time at which the request's first step began
  std::optional<double> first_token_seconds{};
  double end_seconds = 0;
  std::int64_t prompt_tokens = 0;    ///< length of the prompt
  std::int64_t cached_tokens = 0;    ///< prompt tokens that were found in the prefix cache
  std::int64_t computed_tokens = 0;  ///< prompt tokens that steps computed so far
  PrefixMiss miss{};                 ///< where the cached prefix ended, and why
  std::shared_ptr<const AdapterList> adapters{};  ///< null: none
  std::int64_t generated_tokens = 0;
  std::int64_t max_tokens = 0;  ///< limit on the number of generated tokens
  std::int32_t choices = 0;     ///< first choice's record: number of choices; other records: 0
  bool reads_cache = true;      ///< whether the prompt is looked up in the prefix cache
  std::optional<FinishReason> finish{};
};

/// `add` writes each record as JSON in the Trace Event Format.
///
/// A step is a slice. Below it, each phase of the step is a slice. If ops were timed, the phase
/// "forward" has a slice for each kind of op, in the order of OpKind. The length of such a slice is
/// the total time of the op's calls. KV blocks, requests and rows are counters. A request is an
/// asynchronous slice. Below it, its waiting, prompt and tokens are slices. A mark at the start of
/// a request says where and why its cached prefix ended.
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
  /// Completes the file and renames it to its path. Without a call of `finish`, no file remains.
  ///
  /// Errors: Error{kIo} if any part of the file could not be written.
  void finish();

  /// Returns the number of records that were not written because the trace was full or had failed.
  std::int64_t dropped() const { return dropped_; }

 private:
  template <class Record>
  void write(const Record& record);

  OutputFile file_;
  std::string text_;         ///< text of the current record; a member, so that memory is reused
  std::int64_t bytes_left_;  ///< bytes that the file may still grow by; negative: the file is full
  std::int64_t dropped_ = 0;
  std::exception_ptr failed_;
};

}  // namespace ingot
