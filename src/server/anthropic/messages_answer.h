// A reply in the form of /v1/messages: an object of blocks, or the events that build it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "load/json.h"
#include "server/common/reply_text.h"
#include "server/common/service.h"
#include "server/http/handler.h"

namespace ingot {

/// What a reply says of itself, and what was asked to be in it.
struct MessageForm {
  std::string id;
  bool stream = false;
  std::int64_t prompt_tokens = 0;
  std::vector<std::string> stops{};  ///< as in the request
  Json warnings{};
};

/// The one choice of a message.
std::unique_ptr<Answer> message_answer(const Service& service, MessageForm form,
                                       const ReplyText& reply);

}  // namespace ingot
