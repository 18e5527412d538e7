// Gathering a reply from a request's stream, and printing it as JSON.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "load/json.h"
#include "runtime/stream.h"

namespace ingot {

/// The pieces of a request's stream, put together.
struct Reply {
  std::vector<std::int32_t> ids;
  std::string text;
  std::vector<TokenLogprobs> logprobs;
};

/// Appends the pieces that the stream has now; returns their text.
std::string collect(Stream& stream, Reply& reply);

/// A rate; 0 where no time was measured.
inline double per_second(std::int64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

/// Ids as one line: "1,2,3".
std::string ids_line(std::span<const std::int32_t> ids);

/// Members of a reply's object besides ids, finish reason and digest.
struct ReplyFields {
  bool text = true;  ///< false: the model has no tokenizer, and the text is null
  bool logprobs = false;
  bool prompt_logprobs = false;
};

/// The object of `run --jsonl`; `run --json` adds the speeds. `prompt` is the prompt's ids.
Json reply_json(std::span<const std::int32_t> prompt, const Reply& reply, const Outcome& outcome,
                const ReplyFields& fields);

}  // namespace ingot
