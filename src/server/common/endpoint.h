// What an endpoint is: a function from a request to a response, or to work for the engine.
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

/// A prompt and how many choices it gets.
struct GenerationPrompt {
  Request request;
  std::int32_t choices = 1;
};

/// Work for the engine. Choices are numbered through all prompts.
struct Generation {
  std::vector<GenerationPrompt> prompts;
  std::unique_ptr<ResponseWriter> writer;
  bool stream = false;  ///< as server-sent events
};

using Reply = std::variant<HttpResponse, Generation>;

/// A request that an endpoint is called with.
struct Call {
  const HttpRequest& http;
  const std::string& id;  ///< `Admitted::id`
  std::size_t key;        ///< number of the API key that it came with; 0 without keys
  Service& service;
};

/// Errors: ApiError; Error{kInvalid} for what the engine's parts find wrong with it.
using Handler = Reply (*)(const Call& call);

}  // namespace ingot
