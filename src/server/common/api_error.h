// ApiError: an error that a client gets, as JSON for OpenAI's or Anthropic's clients.
#pragma once

#include <cstdint>
#include <exception>
#include <string>

#include "base/error.h"
#include "server/http/http.h"

namespace ingot {

/// An error that endpoints throw. It becomes a response's body, or an event of a stream.
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
  std::string anthropic_message{};  ///< the message for Anthropic's clients; empty: `message`
  std::string param;                ///< the body's wrong member, such as "stop[3]"; empty: none
  std::string cause{};              ///< the reason, which only the log has (500, 503)
  std::int64_t prompt_tokens = -1;  ///< tokens of a prompt that is too long; -1: unknown
  std::int64_t context = -1;        ///< context in tokens, if a prompt is too long; -1: unset
  std::int64_t retry_seconds = 1;   ///< seconds until a retry can succeed (429, 503); 0: never
};

/// The JSON form of an error, which depends on the API that the client uses.
enum class ErrorForm {
  kOpenAi,     ///< {"error": {"message", "type", "param", "code"}}
  kAnthropic,  ///< {"type": "error", "error": {"type", "message", ...}, "request_id"}
};

/// Formats an error as a JSON object, with a shortened and printable message. `request_id`: the
/// request's id, for Anthropic's form; empty: unknown.
std::string error_json(const ApiError& error, ErrorForm form = ErrorForm::kOpenAi,
                       const std::string& request_id = {});
/// Makes the response to an error, with header fields that tell clients whether to retry.
HttpResponse error_response(const ApiError& error, ErrorForm form = ErrorForm::kOpenAi,
                            const std::string& request_id = {});

/// Makes an error 400 about the body's member `param`.
ApiError invalid_request(std::string param, std::string message);
/// Makes an error context_length_exceeded. A prompt needs room for one more token. `is_exact`: the
/// prompt has exactly `tokens` tokens; otherwise at least as many.
ApiError prompt_too_long(std::string param, std::int64_t tokens, std::int64_t context,
                         bool is_exact);
/// Makes an error 429: the queue is full, or the request would wait longer than its limit.
ApiError overloaded();
/// Makes an error 503: the server is being stopped.
ApiError draining();
/// Makes an error 499: the client closed the connection before it had its response.
ApiError client_left();
/// Converts an error of the engine to the error that the client gets.
ApiError api_error(const Error& error);

/// Calls `body` and rethrows its Error as an ApiError. ApiError::param is the name at the beginning
/// of the Error's message, with its path: "stop[3]".
template <class Body>
auto as_api(Body&& body) {
  try {
    return body();
  } catch (const Error& error) {
    throw api_error(error);
  }
}

}  // namespace ingot
