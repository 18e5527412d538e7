// Responses of /v1/messages: an object of blocks, or the events that build it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "load/json.h"
#include "server/common/endpoint.h"
#include "server/common/reply_text.h"
#include "server/common/service.h"

namespace ingot {

/// The request's part of a response.
struct MessageForm {
  std::string id;
  bool stream = false;
  std::int64_t prompt_tokens = 0;
  std::vector<std::string> stops{};  ///< as in the request
  Json warnings{};
};

/// The writer of a message's only choice.
std::unique_ptr<ResponseWriter> messages_writer(const Service& service, MessageForm form,
                                                const ReplyText& reply);

}  // namespace ingot
