// Errors of the API.
#include "server/http/handler.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "load/json.h"

namespace ingot {

namespace {

constexpr std::size_t kMessageMax = 512;

/// The parameter with which messages about requests begin: "top_p is 2, ...", "stop: ...".
std::string param_of(std::string_view message) {
  const auto is_name = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  const auto end = std::find_if_not(message.begin(), message.end(), is_name);
  if (end == message.begin() || end == message.end()) return {};
  const auto length = static_cast<std::size_t>(end - message.begin());
  const std::string_view rest = message.substr(length);
  const bool is_param = rest.starts_with(": ") || rest.starts_with(" is ") ||
                        rest.starts_with(" has ") || rest.starts_with(" holds ") ||
                        rest.starts_with(" names ") || rest.starts_with(" of token ");
  return is_param ? std::string(message.substr(0, length)) : std::string();
}

Json null_or(const std::string& text) { return text.empty() ? Json() : Json(text); }

/// What Anthropic's clients know errors by.
std::string_view anthropic_type(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
      return "overloaded_error";
    default:
      return status < 500 ? "invalid_request_error" : "api_error";
  }
}

}  // namespace

std::string error_json(const ApiError& error, ErrorForm form) {
  const bool is_anthropic = form == ErrorForm::kAnthropic;
  Json inner = Json::object();
  inner.set("message", printable(error.message(), kMessageMax));
  inner.set("type", is_anthropic ? anthropic_type(error.status()) : error.type());
  inner.set("param", null_or(error.param()));
  inner.set("code", null_or(error.code()));
  if (error.prompt_tokens() >= 0) inner.set("n_prompt_tokens", error.prompt_tokens());
  if (error.context() >= 0) inner.set("n_ctx", error.context());
  Json outer = Json::object();
  if (is_anthropic) outer.set("type", "error");
  outer.set("error", std::move(inner));
  return outer.dump();
}

HttpResponse error_response(const ApiError& error, ErrorForm form) {
  HttpResponse response{.status = error.status(), .body = error_json(error, form)};
  const bool is_for_now = error.status() == 429 || error.status() == 503;
  if (is_for_now && error.retry_seconds() > 0) {
    response.fields.emplace_back("Retry-After", std::to_string(error.retry_seconds()));
  } else if (error.status() >= 500) {
    response.fields.emplace_back("x-should-retry", "false");
  }
  return response;
}

ApiError invalid_request(std::string param, std::string message) {
  return ApiError(400, "invalid_request_error", "invalid_value", std::move(message))
      .about(std::move(param));
}

ApiError overloaded() {
  return {429, "rate_limit_error", "server_overloaded",
          "as many requests wait as may, or as can be served in time: try again later"};
}

namespace {

/// Somebody's time is over. Clients try again by themselves what is an overload's fault, and must
/// not do so with what took all the time that it was given.
ApiError timeout(const std::string& message) {
  const std::string param = param_of(message);
  if (param == "queue_timeout") return {503, "server_error", "queue_timeout", message};
  ApiError error(503, "server_error", "timeout", message);
  return param == "max_ttft_ms" ? std::move(error) : std::move(error).for_good();
}

/// Among them what cannot be computed in time: its end would not be the next time either, its first
/// token, whose bound may be the server's own, waits for the others.
ApiError unavailable(const std::string& message) {
  ApiError error(503, "server_error", "unavailable", message);
  const std::string param = param_of(message);
  if (param == "request_timeout") return std::move(error).for_good();
  return param == "deadline_ms" ? std::move(error).about(param).for_good() : std::move(error);
}

}  // namespace

ApiError api_error(const Error& error) {
  switch (error.code()) {
    case ErrorCode::kInvalid:
    case ErrorCode::kModel:
      return invalid_request(param_of(error.message()), error.message());
    case ErrorCode::kUnavailable:
      return unavailable(error.message());
    case ErrorCode::kTimeout:
      return timeout(error.message());
    case ErrorCode::kDoesNotFit:
      return {503, "server_error", "out_of_memory", "there is no memory for the request"};
    case ErrorCode::kNotFinite:
      return ApiError(500, "server_error", "not_finite", error.message()).because(error.message());
    case ErrorCode::kIo:
    case ErrorCode::kInternal:
      break;
  }
  return ApiError(500, "server_error", "internal_error", "the server met an error of its own")
      .because(error.message());
}

}  // namespace ingot
