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
  kLength,     ///< max_tokens or the context's end
  kCancelled,  ///< its reader cancelled it, or the engine stopped
  kError,      ///< see `Outcome::error`
};

inline constexpr std::size_t kFinishReasons = 4;

/// "stop", "length", "cancelled" or "error".
std::string_view to_string(FinishReason reason);

/// How a choice ended, and values that are complete only then.
struct Outcome {
  FinishReason finish = FinishReason::kCancelled;
  std::int32_t stop = -1;  ///< index of the Request::stop that ended the text; -1 = none
  std::optional<Error> error;
  std::optional<std::uint64_t> digest;  ///< hash of the logits, if the request asks for it
  /// From the prompt's second token on, or from Request::prompt_logprobs_from.
  std::vector<TokenLogprobs> prompt_logprobs;
  std::vector<float> hidden;  ///< [rows, H], if the request asks for them
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;     ///< prompt tokens that were cached
  PrefixMiss miss;                    ///< where these end, and why; for operators alone
  std::int32_t preemptions = 0;       ///< while its reader kept up
  std::int64_t generated_tokens = 0;  ///< ids delivered
  double queue_seconds = 0;           ///< from submission to admission
  double prefill_seconds = 0;         ///< from admission to the first token drawn
  double decode_seconds = 0;          ///< from the first token drawn to the last
  std::int64_t decode_steps = 0;      ///< tokens drawn after the first

  /// 16 hexadecimal digits; empty without a digest.
  std::string digest_text() const;
};

}  // namespace ingot
