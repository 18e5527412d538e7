// Writes responses of POST /v1/chat/completions: chunks, or one object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "load/json.h"
#include "runtime/delta.h"
#include "server/common/common_params.h"
#include "server/common/reply_reader.h"
#include "server/http/request_handler.h"

namespace ingot {

/// The parts of a chat request that shape its response.
struct ChatForm {
  StreamParams stream{};
  /// Makes a token's entry of the log-probabilities; empty: the response has none.
  std::function<Json(const TokenLogprobs&)> logprob{};
  bool token_ids = false;          ///< return_token_ids
  bool has_function_call = false;  ///< the reply has a `function_call` instead of `tool_calls`
  std::size_t choices = 1;
  std::int64_t prompt_tokens = 0;
};

/// Makes the writer of a response. `head` and `once` are those of ChoicesWriter.
std::unique_ptr<ResponseWriter> chat_writer(ChatForm form, std::string head, std::string once,
                                            const ReplyFormat& reply);

}  // namespace ingot
