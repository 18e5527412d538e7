// --draft and --draft-tokens: which drafts speculation verifies, and how many.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/instance.h"

namespace CLI {
class App;
}

namespace ingot {

struct ModelOptionValues;

/// Values of the options about drafts, as typed.
struct DraftValues {
  std::string draft = "lookup";  ///< "lookup", "off", or a draft model: a path or name
  std::string tokens = "auto";   ///< drafts of each step, or "auto"
};

/// Declares --draft and --draft-tokens.
void add_draft_options(CLI::App& app, DraftValues& values);

/// What --draft and --draft-tokens ask for.
struct DraftChoice {
  bool lookup = false;
  std::optional<InstanceOptions> model{};  ///< the draft model to open
  std::int32_t tokens = 0;                 ///< drafts of each step; 0: as many as pay

  bool is_on() const { return lookup || model; }
  /// Returns "off", "lookup" or "model", for reports.
  std::string_view kind() const { return model ? "model" : lookup ? "lookup" : "off"; }
  /// Returns StartOptions::draft_rows of an engine that runs this number of sequences at once.
  std::int32_t draft_rows(std::int32_t sequences) const {
    return is_on() ? draft_rows_for(sequences) : 0;
  }
};

/// Reads --draft and --draft-tokens. Finds the draft model, but does not open it. Lookup is on
/// beside a draft model, because it costs nothing.
///
/// Errors: Error{kInvalid} naming the option; those of find_model.
DraftChoice choose_drafts(const ModelOptionValues& values);

/// Opens the draft model, if there is one, and shows a progress bar. `target` was started with
/// `start`. Returns the options of its engine.
///
/// Errors: those of DraftModel; Error{kInvalid} if `target` generates no text.
SpeculationOptions start_drafts(const DraftChoice& choice, ThreadPool& pool, Instance& target,
                                const StartOptions& start);

}  // namespace ingot
