// Endpoint: a function from an HTTP request to a response, or to work for the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "runtime/request.h"
#include "server/common/api_error.h"
#include "server/http/http.h"
#include "server/http/request_handler.h"

namespace ingot {

class Service;

/// A request to the engine and its number of choices.
struct GenerationPrompt {
  Request request;
  std::int32_t choices = 1;
};

/// Prompts for the engine, and the response's writer. Choice numbers continue across prompts.
struct Generation {
  std::vector<GenerationPrompt> prompts;
  std::unique_ptr<ResponseWriter> writer;
  bool stream = false;  ///< whether the response is sent as server-sent events
};

using Reply = std::variant<HttpResponse, Generation>;

/// The arguments of an endpoint: one HTTP request and its context.
struct Call {
  const HttpRequest& http;
  const std::string& id;  ///< the request's id, from `Admitted::id`
  std::size_t key;        ///< number of the request's API key, from 1; 0: no key is needed
  Service& service;
};

/// Serves an endpoint. Errors: ApiError; Error{kInvalid} if the engine refuses a value.
using Handler = Reply (*)(const Call& call);

}  // namespace ingot
