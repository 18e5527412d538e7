// SpeculationMode and SpeculationOptions: which drafts an engine and a request use.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "runtime/draft/draft_counts.h"

namespace ingot {

class Drafter;

/// Which drafts a request uses.
enum class SpeculationMode {
  kAuto,    ///< those of the engine's options
  kOff,     ///< none
  kLookup,  ///< what followed earlier occurrences of the last tokens
  kDraft,   ///< those of the engine's draft model
};

/// The names of the modes in requests, in the order of SpeculationMode.
inline constexpr std::array<std::string_view, 4> kSpeculationModes{"auto", "off", "lookup",
                                                                   "draft"};

/// A request's choice of drafts.
struct RequestSpeculation {
  SpeculationMode mode = SpeculationMode::kAuto;
  std::int32_t tokens = -1;  ///< limit on the drafts of a step; 0 or -1: no limit of its own
};

/// Returns a limit on a step's drafts: the most of two sequences. A higher limit takes more memory
/// for rows of logits; in steps of many sequences, few drafts pay.
constexpr std::int32_t draft_rows_for(std::int32_t sequences) {
  return kDraftsMax * std::min(sequences, 2);
}

/// An engine's drafts. They need ExecutorLimits::draft_rows.
struct SpeculationOptions {
  bool lookup = false;               ///< whether requests use lookups by default
  std::shared_ptr<Drafter> model{};  ///< drafts with a model; used by default; may be null
  /// Drafts of each sequence in each step, whether they pay or not; 0: as many as pay.
  std::int32_t tokens = 0;
};

}  // namespace ingot
