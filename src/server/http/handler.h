// What an endpoint makes of a request: a response, or a generation whose pieces it puts into words.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/request.h"
#include "runtime/stream.h"
#include "server/http/http.h"

namespace ingot {

class Service;

/// An error of the API. Thrown by endpoints, and the body of its response or event.
class ApiError : public std::exception {
 public:
  ApiError(int status, std::string type, std::string code, std::string message)
      : status_(status),
        type_(std::move(type)),
        code_(std::move(code)),
        message_(std::move(message)) {}
  ApiError&& about(std::string param) && {
    param_ = std::move(param);
    return std::move(*this);
  }
  /// Room of a prompt that is too long.
  ApiError&& with_context(std::int64_t prompt_tokens, std::int64_t context) && {
    prompt_tokens_ = prompt_tokens;
    context_ = context;
    return std::move(*this);
  }

  /// Of a 429 or 503: when it makes sense to try again.
  ApiError&& in(std::int64_t retry_seconds) && {
    retry_seconds_ = retry_seconds;
    return std::move(*this);
  }
  /// Of a 503: the same request would only fail again.
  ApiError&& for_good() && {
    retry_seconds_ = 0;
    return std::move(*this);
  }

  /// Of a 500: what happened, for the log alone.
  ApiError&& because(std::string cause) && {
    cause_ = std::move(cause);
    return std::move(*this);
  }

  int status() const { return status_; }
  const std::string& type() const { return type_; }
  const std::string& code() const { return code_; }
  const std::string& message() const { return message_; }
  const std::string& param() const { return param_; }
  const std::string& cause() const { return cause_; }
  std::int64_t prompt_tokens() const { return prompt_tokens_; }
  std::int64_t context() const { return context_; }
  std::int64_t retry_seconds() const { return retry_seconds_; }  ///< 0: not at all
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  int status_;
  std::string type_;
  std::string code_;
  std::string message_;
  std::string param_;
  std::string cause_;
  std::int64_t prompt_tokens_ = -1;
  std::int64_t context_ = -1;
  std::int64_t retry_seconds_ = 1;
};

/// Whose clients read an error.
enum class ErrorForm {
  kOpenAi,     ///< {"error": {"message", "type", "param", "code"}}
  kAnthropic,  ///< {"type": "error", "error": {"type", "message", ...}}, with types of its own
};

/// An error's object, with the numbers that go with it. `message` is shortened and made printable.
std::string error_json(const ApiError& error, ErrorForm form = ErrorForm::kOpenAi);
/// The response of an error, with what clients need to know whether to try again.
HttpResponse error_response(const ApiError& error, ErrorForm form = ErrorForm::kOpenAi);

/// 400 invalid_request_error, about a member of the body.
ApiError invalid_request(std::string param, std::string message);
/// 429 while the queue is full, or so long that a request would wait beyond its time.
ApiError overloaded();
/// What the engine ended a request with.
ApiError api_error(const Error& error);

/// Puts what the engine gives for one HTTP request into an endpoint's form. Its functions are
/// called one at a time.
class Answer {
 public:
  virtual ~Answer() = default;
  /// Takes in a piece of a choice.
  virtual void piece(std::size_t choice, const Delta& delta) = 0;
  /// Of streams: appends an event, where there is something to say, for the choice's pieces since
  /// the last one.
  virtual void flush(std::size_t choice, std::string& out) = 0;
  /// The end of a choice, which is no error, with what was not flushed.
  virtual void ended(std::size_t choice, const Outcome& outcome, std::string& out) = 0;
  /// After the last choice has ended: the rest of a stream, or the whole body.
  virtual void finish(std::string& out) = 0;
  /// An event for an error in the middle of a stream; nothing comes behind it.
  virtual void fail(const ApiError& error, std::string& out) = 0;
  /// Of errors before anything was sent.
  virtual ErrorForm error_form() const { return ErrorForm::kOpenAi; }
};

/// A prompt and how many continuations of it are wanted.
struct GenerationPrompt {
  Request request;
  std::int32_t choices = 1;
};

/// Work for the engine. Choices are numbered through all prompts.
struct Generation {
  std::vector<GenerationPrompt> prompts;
  std::unique_ptr<Answer> answer;
  bool stream = false;  ///< as server-sent events
};

using Reply = std::variant<HttpResponse, Generation>;

/// A request on its way through an endpoint.
struct Call {
  const HttpRequest& http;
  const std::string& id;  ///< the server's own, of letters, digits and "-"
  std::size_t key;        ///< number of the API key that it came with; 0 without keys
  Service& service;
};

/// Errors: ApiError; Error{kInvalid} for what the engine's parts find wrong with it.
using Handler = Reply (*)(const Call& call);

}  // namespace ingot
