// What a request gave, gathered from its stream, and how it is printed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "load/json.h"
#include "runtime/stream.h"

namespace ingot {

/// A request's pieces put together.
struct Reply {
  std::vector<std::int32_t> ids;
  std::string text;
  std::vector<TokenLogprobs> logprobs;
};

/// Appends what the stream has now; returns its text alone.
std::string collect(Stream& stream, Reply& reply);

/// What an object shows besides ids, text, finish reason and digest.
struct ReplyFields {
  bool text = true;  ///< false: the model has no tokenizer, and the text is null
  bool logprobs = false;
  bool prompt_logprobs = false;
};

/// The object of `run --jsonl`; `run --json` adds the speeds. `prompt` with ids alone.
Json reply_json(std::span<const std::int32_t> prompt, const Reply& reply, const Outcome& outcome,
                const ReplyFields& fields);

}  // namespace ingot
