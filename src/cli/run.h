// ingot run: what its ways to read prompts share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/options/model_options.h"
#include "cli/options/request_options.h"
#include "cli/options/trace_file.h"

namespace ingot {

/// Values of the flags of `ingot run`.
struct RunValues {
  ModelOptionValues model;
  RequestOptionValues request;
  TraceValues trace;
  std::optional<std::string> prompt;
  std::optional<std::string> tokens;
  std::optional<std::string> messages;
  std::optional<std::string> chat_template;
  std::optional<std::string> session;       ///< a file to continue
  std::optional<std::string> save_session;  ///< a file to write
  const CLI::App* app = nullptr;            ///< the command with these flags
  bool jsonl = false;
  bool print_ids = false;
  bool json = false;
  std::int32_t sequences = 64;
  std::int32_t step_rows = 512;
};

/// Halves the rows of a step, and the sequences where they would be more, until one whole sequence
/// fits beside it or one row is left: smaller steps give the same bits, in more time.
void shrink_step_to_fit(const Instance& instance, StartOptions& start);

/// Continues every line of stdin, as one batch, with the trace looking on. Returns the exit code:
/// whether all went well.
int run_lines(const RunValues& values, Instance& instance, TraceFile& trace);

}  // namespace ingot
