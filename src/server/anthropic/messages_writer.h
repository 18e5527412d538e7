// Writes responses of POST /v1/messages: one object of content blocks, or a stream of events.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "load/json.h"
#include "server/common/endpoint.h"
#include "server/common/reply_reader.h"

namespace ingot {

/// Values of a request that its response needs.
struct MessageForm {
  std::string id;       ///< the request's id, in which the message's id ends
  std::string model{};  ///< the model's name in the response
  bool stream = false;
  std::int64_t prompt_tokens = 0;
  std::vector<std::string> stops{};  ///< the request's stop strings
  Json seed{};                       ///< the seed that was sent or drawn
  Json warnings{};
};

/// Makes the writer of a response with one choice.
std::unique_ptr<ResponseWriter> messages_writer(MessageForm form, const ReplyFormat& reply);

}  // namespace ingot
