// Endpoint: a function from an HTTP request to a response, or to work for the engine.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/request.h"
#include "server/common/api_error.h"
#include "server/http/http.h"
#include "server/http/request_handler.h"

namespace ingot {

class Service;

/// The fields in which the prompts of a generation differ: see Request.
struct GenerationPrompt {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> types{};  ///< token types: see Request
  std::int64_t max_tokens = 0;
  bool ignore_eos = false;
};

/// Prompts for the engine, and the response's writer. Choice numbers continue across prompts.
struct Generation {
  Request request{};  ///< the fields that all prompts share
  std::vector<GenerationPrompt> prompts{};
  std::int32_t choices = 1;  ///< number of choices of each prompt
  std::unique_ptr<ResponseWriter> writer{};
  bool stream = false;  ///< whether the response is sent as server-sent events

  /// Adds the prompt of `request`, with the limits that `request` has now.
  void add_prompt() {
    prompts.push_back({.ids = std::exchange(request.prompt, {}),
                       .max_tokens = request.max_tokens,
                       .ignore_eos = request.ignore_eos});
  }
};

using Reply = std::variant<HttpResponse, Generation>;

/// The arguments of an endpoint: one HTTP request and its context.
struct Call {
  const HttpRequest& http;
  const std::string& id;  ///< the request's id, from `Admitted::id`
  std::size_t key;        ///< number of the request's API key, from 1; 0: no key is needed
  Service& service;
  const std::atomic<bool>& has_left;  ///< becomes true when the client closes the connection
  const AdapterLoads& loads;          ///< adapters for which the request waited

  /// Checks that the response is still wanted. Endpoints with many parts call it between the parts.
  ///
  /// Errors: ApiError{client_left}; ApiError{draining} if the server stops.
  void require_wanted() const;
};

/// Serves an endpoint. Errors: ApiError; Error{kInvalid} if the engine refuses a value.
using Handler = Reply (*)(const Call& call);

}  // namespace ingot
