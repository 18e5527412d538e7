// Writes responses of POST /v1/responses: one object of items, or a stream of events.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "load/json.h"
#include "server/common/endpoint.h"
#include "server/common/reply_reader.h"
#include "server/openai/message_logprobs.h"

namespace ingot {

/// Values of a request that its response needs.
struct ResponseForm {
  std::string id;  ///< the request's id; the ids of the response and of its items end in this id
  std::string model{};  ///< the model's name in the response
  std::int64_t created = 0;
  bool stream = false;
  bool has_sealed_reasoning = false;  ///< whether items of reasoning have `encrypted_content`
  /// Makes a token's entry of the log-probabilities; empty: the response has none.
  ScoredReader::Entry logprob{};
  Json repeated = Json::object();  ///< members of the request that the response repeats
  Json seed{};                     ///< the seed that was sent or drawn
  Json warnings{};
};

/// Makes the writer of a response with one choice.
std::unique_ptr<ResponseWriter> responses_writer(ResponseForm form, const ReplyFormat& reply);

}  // namespace ingot
