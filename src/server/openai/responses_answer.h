// A reply in the form of /v1/responses: an object of items, or the events that build it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "load/json.h"
#include "server/common/reply_text.h"
#include "server/common/service.h"
#include "server/http/handler.h"

namespace ingot {

/// What a response says of itself, and what was asked to be in it.
struct ResponseForm {
  std::string id;  ///< of the request: the ids of the response and its items end in it
  std::int64_t created = 0;
  bool stream = false;
  bool logprobs = false;
  Json repeated = Json::object();  ///< members of the request that the response repeats
  Json warnings{};
};

/// The one choice of a response.
std::unique_ptr<Answer> response_answer(const Service& service, ResponseForm form,
                                        const ReplyText& reply);

}  // namespace ingot
