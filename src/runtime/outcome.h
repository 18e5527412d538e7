// Outcome and FinishReason: how a choice ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kv/prefix_index.h"
#include "runtime/delta.h"

namespace ingot {

/// Why a choice ended.
enum class FinishReason {
  kStop,       ///< a stop token was drawn, or a stop string appeared
  kLength,     ///< the choice reached max_tokens or the end of the context
  kCancelled,  ///< the reader cancelled or stalled, or the engine stopped
  kError,      ///< the choice failed: see `Outcome::error`
};

inline constexpr std::size_t kFinishReasons = 4;

/// Returns "stop", "length", "cancelled" or "error".
std::string_view to_string(FinishReason reason);

/// How a choice ended, and results that are complete only at its end.
struct Outcome {
  FinishReason finish = FinishReason::kCancelled;
  std::int32_t stop = -1;  ///< index in Request::stop of the string that ended the text; -1 = none
  std::optional<Error> error;
  std::optional<std::uint64_t> digest;  ///< hash of the logits; empty if not requested
  /// Log-probabilities of prompt tokens, from index max(1, Request::prompt_logprobs_from) on.
  std::vector<TokenLogprobs> prompt_logprobs;
  std::vector<float> hidden;       ///< [rows, hidden size]: hidden states; empty if not requested
  std::vector<float> pooled;       ///< an embedding, or a score per label; empty if not requested
  bool is_first_choice = true;     ///< whether it is the first choice of its prompt
  std::int64_t prompt_tokens = 0;  ///< length of the prompt
  std::int64_t cached_tokens = 0;  ///< prompt tokens that were found in the prefix cache
  /// Prompt tokens that steps computed: the uncached ones, or fewer if the choice ended early.
  std::int64_t computed_tokens = 0;
  PrefixMiss miss;               ///< where the cached prefix ended, and why; for operators only
  std::int32_t preemptions = 0;  ///< number of preemptions while the reader kept up
  std::int64_t generated_tokens = 0;  ///< number of delivered tokens
  // Drafts: see Speculation.
  std::int64_t drafts = 0;              ///< number of drafts whose rows were computed
  std::int64_t accepted_drafts = 0;     ///< number of drafts that became tokens
  std::int64_t predicted = 0;           ///< `drafts` that come from Request::prediction
  std::int64_t accepted_predicted = 0;  ///< `accepted_drafts` that come from Request::prediction
  double queue_seconds = 0;             ///< time from submission to admission
  double prefill_seconds = 0;           ///< time from admission to the first drawn token
  double decode_seconds = 0;            ///< time from the first to the last drawn token
  std::int64_t decode_steps = 0;        ///< number of drawn tokens after the first

  /// Returns the digest as 16 hexadecimal digits; empty without a digest.
  std::string digest_text() const;
};

}  // namespace ingot
