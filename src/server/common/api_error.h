// ApiError: an error of the API, and its forms for OpenAI's and Anthropic's clients.
#pragma once

#include <cstdint>
#include <exception>
#include <string>

#include "base/error.h"
#include "server/http/http.h"

namespace ingot {

/// An error that endpoints throw, and that becomes the body of a response or an event.
struct ApiError : std::exception {
  ApiError(int http_status, std::string error_code, std::string text, std::string about = {})
      : status(http_status),
        code(std::move(error_code)),
        message(std::move(text)),
        param(std::move(about)) {}
  const char* what() const noexcept override { return message.c_str(); }

  int status;  ///< HTTP status; it decides the error's type
  std::string code;
  std::string message;
  std::string param;                ///< the member of the body that is wrong; empty without one
  std::string cause{};              ///< what happened, for the log alone (500)
  std::int64_t prompt_tokens = -1;  ///< length of a prompt that is too long; -1: not told
  std::int64_t context = -1;        ///< tokens of the context, for such a prompt; -1: not told
  std::int64_t retry_seconds = 1;   ///< when to try again (429, 503); 0: never
};

/// Which clients read an error.
enum class ErrorForm {
  kOpenAi,     ///< {"error": {"message", "type", "param", "code"}}
  kAnthropic,  ///< {"type": "error", "error": {"type", "message", ...}}, with types of its own
};

/// The JSON object of an error. The message is shortened and made printable.
std::string error_json(const ApiError& error, ErrorForm form = ErrorForm::kOpenAi);
/// The response of an error, which tells clients whether to try again.
HttpResponse error_response(const ApiError& error, ErrorForm form = ErrorForm::kOpenAi);

/// 400, about a member of the body.
ApiError invalid_request(std::string param, std::string message);
/// 429 while the queue is full, or a request would wait longer than it may.
ApiError overloaded();
/// 503 while the server stops.
ApiError draining();
/// The error with which the engine, or a part of it, ended a request.
ApiError api_error(const Error& error);

/// Calls `body`, and throws its Error as an ApiError that names the parameter: messages begin with
/// it.
template <class Body>
auto as_api(Body&& body) {
  try {
    return body();
  } catch (const Error& error) {
    throw api_error(error);
  }
}

}  // namespace ingot
