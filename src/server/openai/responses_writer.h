// Responses of /v1/responses: an object of items, or the events that build it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "load/json.h"
#include "server/common/endpoint.h"
#include "server/common/reply_text.h"
#include "server/common/service.h"

namespace ingot {

/// The request's part of a response.
struct ResponseForm {
  std::string id;  ///< the request's; the ids of the response and its items end in it
  std::int64_t created = 0;
  bool stream = false;
  bool logprobs = false;
  Json repeated = Json::object();  ///< members of the request that the response repeats
  Json warnings{};
};

/// The writer of a response's only choice.
std::unique_ptr<ResponseWriter> responses_writer(const Service& service, ResponseForm form,
                                                 const ReplyText& reply);

}  // namespace ingot
