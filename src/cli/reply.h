// Collects a reply from a request's stream, and formats it as JSON.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "load/json.h"
#include "runtime/stream.h"

namespace ingot {

/// The deltas of a request's stream, joined.
struct Reply {
  std::vector<std::int32_t> ids;
  std::string text;
  std::vector<TokenLogprobs> logprobs;
};

/// Appends the available deltas of the stream to `reply`; returns their text.
std::string collect(Stream& stream, Reply& reply);

/// Returns `count` / `seconds`, or 0 if `seconds` is 0.
inline double per_second(std::int64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

/// Returns the ids as one line: "1,2,3".
std::string ids_line(std::span<const std::int32_t> ids);

/// The optional members of a reply's JSON object, and the seed.
struct ReplyFields {
  bool text = true;  ///< false: the model has no tokenizer, and the text is null
  bool logprobs = false;
  bool prompt_logprobs = false;
  bool drafts = false;  ///< counts of drafts, which differ from run to run
  std::uint64_t seed = 0;
};

/// Makes a reply's object for `run --jsonl`. `run --json` adds speeds to it. `prompt`: prompt ids.
Json reply_json(std::span<const std::int32_t> prompt, const Reply& reply, const Outcome& outcome,
                const ReplyFields& fields);

}  // namespace ingot
