// The flags of `ingot run`, and a function that runs each line of stdin as a request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/options/constraint_options.h"
#include "cli/options/model_options.h"
#include "cli/options/prompt_options.h"
#include "cli/options/request_options.h"
#include "cli/options/trace_file.h"
#include "text/chat/named_templates.h"

namespace ingot {

/// Values of the flags of `ingot run`.
struct RunValues {
  ModelOptionValues model;
  Request request = default_request(place::kRun);
  ConstraintValues constraint_flags;
  std::optional<ConstraintSpec>
      constraint;     ///< read from `constraint_flags` before the model opens
  DraftChoice draft;  ///< read from `model.draft` before the model opens
  TraceValues trace;
  PromptValues prompt_flags;
  std::optional<std::string> prompt;  ///< text of `prompt_flags`, read before the model opens
  std::optional<std::string> suffix;  ///< text behind the gap that the model fills; absent: no gap
  bool plain_text = false;            ///< true: names of special tokens in prompts stay text
  std::optional<std::string> tokens;
  std::optional<std::string> messages;
  TemplateChoice chat_template;
  std::optional<std::string> session;       ///< session file to continue; absent: none
  std::optional<std::string> save_session;  ///< session file to write; absent: none
  const CLI::App* app = nullptr;            ///< CLI11's object for the command `ingot run`
  bool jsonl = false;
  bool no_echo = false;  ///< true: only the generated text is printed
  bool print_ids = false;
  bool json = false;
  std::int32_t sequences = 64;
  std::int32_t step_rows = 512;
};

/// Returns how the prompts of `ingot run` become tokens.
inline PromptOptions prompt_options(const RunValues& v) {
  return {.special = v.plain_text ? std::optional(false) : std::nullopt,
          .suffix = v.suffix.value_or("")};
}

/// Runs each line of stdin as a request. One engine runs all requests. Also writes the trace.
/// Returns kCheckFailed if a line gave an error, otherwise kDone.
int run_lines(const RunValues& values, OpenModel& model, TraceFile& trace);

}  // namespace ingot
