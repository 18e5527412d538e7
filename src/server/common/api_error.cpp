// ApiError: the JSON of errors, and the conversion of the engine's errors.
#include "server/common/api_error.h"

#include <algorithm>

#include "base/index.h"
#include "base/text.h"
#include "load/json.h"
#include "load/json_object.h"
#include "server/http/request_handler.h"

namespace ingot {

namespace {

constexpr std::size_t kMessageMax = 512;

/// The length of a name at the beginning of `text`, with the indices or the key behind it:
/// "stop[3]", "logit_bias[\"7\"]".
std::size_t path_length(std::string_view text) {
  const auto is_name = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  auto length = to_size(std::find_if_not(text.begin(), text.end(), is_name) - text.begin());
  // Takes the last `"]` as the key's end, because the key itself may contain `"]`.
  const std::size_t key_end = text.rfind("\"]");
  if (key_end != std::string_view::npos && text.substr(length).starts_with("[\"")) {
    return key_end + 2;
  }
  while (length > 0 && text.substr(length).starts_with('[')) {
    const std::size_t end = text.find(']', length);
    if (end == std::string_view::npos) return 0;
    length = end + 1;
  }
  return length;
}

/// The parameter at the beginning of a message about a request: "top_p is 2, ...", "stop: ...".
std::string param_of(std::string_view message) {
  const std::size_t length = path_length(message);
  if (length == 0) return {};
  const std::string_view rest = message.substr(length);
  const bool is_param = rest.starts_with(": ") || rest.starts_with(" is ") ||
                        rest.starts_with(" has ") || rest.starts_with(" holds ") ||
                        rest.starts_with(" names ");
  return is_param ? std::string(message.substr(0, length)) : std::string();
}

Json null_or(const std::string& text) { return text.empty() ? Json() : Json(text); }

/// The error type by which clients tell errors apart.
std::string_view type_of(int status, bool is_anthropic) {
  if (status == 401) return "authentication_error";
  if (status == 429) return "rate_limit_error";
  if (!is_anthropic) return status < 500 ? "invalid_request_error" : "server_error";
  if (status == 404) return "not_found_error";
  if (status == 413) return "request_too_large";
  if (status == 503) return "overloaded_error";
  return status < 500 ? "invalid_request_error" : "api_error";
}

}  // namespace

std::string error_json(const ApiError& error, ErrorForm form, const std::string& request_id) {
  const bool is_anthropic = form == ErrorForm::kAnthropic;
  const bool is_own = is_anthropic && !error.anthropic_message.empty();
  const std::string& message = is_own ? error.anthropic_message : error.message;
  Json inner = json_object({{"message", printable(message, kMessageMax)},
                            {"type", type_of(error.status, is_anthropic)},
                            {"param", null_or(error.param)},
                            {"code", null_or(error.code)}});
  if (error.prompt_tokens >= 0) inner.set("n_prompt_tokens", error.prompt_tokens);
  if (error.context >= 0) inner.set("n_ctx", error.context);
  Json outer = Json::object();
  if (is_anthropic) outer.set("type", "error");
  outer.set("error", std::move(inner));
  if (is_anthropic && !request_id.empty()) outer.set("request_id", request_id);
  return outer.dump();
}

HttpResponse error_response(const ApiError& error, ErrorForm form, const std::string& request_id) {
  HttpResponse response{.status = error.status,
                        .body = error_json(error, form, request_id),
                        .error = {.code = error.code, .param = error.param}};
  const bool is_for_now = error.status == 429 || error.status == 503;
  if (is_for_now && error.retry_seconds > 0) {
    response.fields.emplace_back("Retry-After", std::to_string(error.retry_seconds));
  } else if (error.status >= 500) {
    response.fields.emplace_back("x-should-retry", "false");
  }
  return response;
}

ApiError invalid_request(std::string param, std::string message) {
  return {400, "invalid_value", std::move(message), std::move(param)};
}

ApiError prompt_too_long(std::string param, std::int64_t tokens, std::int64_t context,
                         bool is_exact) {
  ApiError error(400, "context_length_exceeded",
                 cat("This model's maximum context length is ", context, " tokens, the prompt has ",
                     tokens, is_exact ? "" : " or more", ": it must leave room for another token"),
                 std::move(param));
  // Clients look for exactly this wording. A prompt of `context` tokens is too long as well,
  // because it leaves no room: "64 tokens > 63 maximum".
  error.anthropic_message =
      cat("prompt is too long: ", tokens, " tokens > ", std::min(context, tokens - 1), " maximum");
  if (is_exact) error.prompt_tokens = tokens;
  error.context = context;
  return error;
}

ApiError overloaded() {
  return {429, "server_overloaded", "too many requests are waiting: try again later"};
}

ApiError client_left() { return {kClientLeft, "client_left", "the client closed the connection"}; }

ApiError draining() { return {503, "draining", "the server is being stopped"}; }

namespace {

/// A time limit ended the request. Clients retry by themselves. They must not if the request itself
/// used the time, since a retry would use it again.
ApiError timeout(const std::string& message) {
  const std::string param = param_of(message);
  ApiError error(503, param == "queue_timeout" ? param : "timeout", message);
  if (param != "queue_timeout" && param != "max_ttft_ms") error.retry_seconds = 0;
  return error;
}

/// A request that cannot end in time would fail again. A request with a late first token might not:
/// it waits for other requests, and the limit may be the server's own.
ApiError unavailable(const std::string& message) {
  ApiError error(503, "unavailable", message);
  const std::string param = param_of(message);
  if (param == "request_timeout" || param == "deadline_ms") error.retry_seconds = 0;
  if (param == "deadline_ms") error.param = param;
  return error;
}

ApiError failed(std::string code, std::string message, const Error& error) {
  ApiError failure(500, std::move(code), std::move(message));
  failure.cause = error.plain_message();
  return failure;
}

}  // namespace

ApiError api_error(const Error& error) {
  switch (error.code()) {
    case ErrorCode::kInvalid:
    case ErrorCode::kModel:
      return invalid_request(param_of(error.plain_message()), error.plain_message());
    case ErrorCode::kUnavailable:
      return unavailable(error.plain_message());
    case ErrorCode::kTimeout:
      return timeout(error.plain_message());
    case ErrorCode::kDoesNotFit:
      return {503, "out_of_memory", "there is not enough memory for the request"};
    case ErrorCode::kNotFinite:
      return failed("not_finite", error.plain_message(), error);
    case ErrorCode::kIo:
    case ErrorCode::kInternal:
      break;
  }
  return failed("internal_error", "an internal error occurred in the server", error);
}

}  // namespace ingot
