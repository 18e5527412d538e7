// RequestGate: checks hosts, API keys, origins and limits; makes error responses; writes the log.
#include "server/common/request_gate.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "server/common/model_choice.h"
#include "server/common/request_id.h"
#include "server/common/route.h"
#include "server/http/http_head.h"

namespace ingot {

namespace {

constexpr std::size_t kPreflightBytesMax = 1024;

/// The name in a Host field, without its port.
std::string_view host_name(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

/// Whether a Content-Type says JSON in UTF-8.
bool is_json(const std::string* type) {
  if (type == nullptr) return false;
  std::string text = lower_ascii(*type);
  text.erase(std::remove_if(text.begin(), text.end(), [](char c) { return c == ' ' || c == '"'; }),
             text.end());
  return text == "application/json" || text == "application/json;charset=utf-8";
}

/// The response when there is no room. OpenAI's body has no id, so this function makes it once.
HttpResponse overload_response(ErrorForm form, const std::string& id) {
  if (form == ErrorForm::kAnthropic) return refusal_response(overloaded(), form, id);
  static const HttpResponse kOpenAi = error_response(overloaded());
  HttpResponse response = kOpenAi;
  add_id_fields(response.fields, id, form);
  return response;
}

/// The key in the Authorization bearer, else in x-api-key (Anthropic's clients), else in api-key
/// (Azure's clients). A proxy may use Authorization itself.
std::string_view presented_key(const HttpRequest& request) {
  constexpr std::string_view kScheme = "bearer ";
  if (const std::string* field = request.field("authorization")) {
    const std::string_view value = *field;
    if (lower_ascii(value.substr(0, kScheme.size())) == kScheme)
      return value.substr(kScheme.size());
  }
  for (const std::string_view name : {"x-api-key", "api-key"}) {
    if (const std::string* field = request.field(name)) return *field;
  }
  return {};
}

}  // namespace

bool RequestGate::is_host_allowed(const HttpRequest& request, const Route* route) const {
  const std::string* host = request.field("host");
  // The check is against web pages that rebind their host name to this server. They cannot reach a
  // Unix socket or use HTTP/1.0, which has no Host field; load balancers' probes use it.
  if (request.peer.empty()) return true;
  if (host == nullptr) return route != nullptr && route->access == Access::kPublic;
  const std::string name = lower_ascii(host_name(*host));
  if (name == "localhost" || name == "127.0.0.1" || name == "[::1]") return true;
  return std::any_of(options_.access.allowed_hosts.begin(), options_.access.allowed_hosts.end(),
                     [&](const std::string& allowed) { return allowed == "*" || allowed == name; });
}

std::size_t RequestGate::check_key(const HttpRequest& request) {
  const std::string_view key = presented_key(request);
  // Valid keys come first: a client that guesses must not lock out all clients of its proxy.
  if (const auto number = options_.keys.find(key)) return *number;
  const auto rest = auth_failures_.add(request.peer, AuthFailures::Clock::now());
  if (rest.count() > 0) {
    ApiError error(429, "too_many_failures",
                   "too many wrong keys came from this address: try again in a minute");
    error.retry_seconds = rest.count();
    throw ApiError(std::move(error));
  }
  throw ApiError(401, "invalid_api_key", "a valid API key is needed: Authorization: Bearer KEY");
}

std::size_t RequestGate::authenticate(const HttpRequest& request, const Route* route) {
  const bool is_public = route != nullptr && route->access == Access::kPublic;
  if (options_.keys.is_empty() || is_public) return 0;
  return check_key(request);
}

const std::string* RequestGate::allowed_origin(const HttpRequest& request) const {
  const std::string* origin = request.field("origin");
  if (origin == nullptr) return nullptr;
  const auto allowed =
      std::find_if(options_.access.cors_origins.begin(), options_.access.cors_origins.end(),
                   [&](const std::string& one) { return one == "*" || one == *origin; });
  return allowed == options_.access.cors_origins.end() ? nullptr : &*allowed;
}

HttpResponse RequestGate::preflight(const HttpRequest& request, const std::string& id) const {
  HttpResponse response{.status = 204, .type = {}};
  add_id_fields(response.fields, id, ErrorForm::kOpenAi);
  if (allowed_origin(request) == nullptr) return response;
  // Clients add harmless fields of their own, so the response allows the requested ones.
  const std::string* wanted = request.field("access-control-request-headers");
  const bool is_list = wanted != nullptr && wanted->size() <= kPreflightBytesMax &&
                       std::all_of(wanted->begin(), wanted->end(), [](char c) {
                         return c == ',' || c == ' ' || is_http_token({&c, 1});
                       });
  response.fields.emplace_back("Access-Control-Allow-Methods", "GET, POST, DELETE");
  response.fields.emplace_back(
      "Access-Control-Allow-Headers",
      is_list ? *wanted : "authorization, content-type, x-api-key, api-key");
  response.fields.emplace_back("Access-Control-Max-Age", "600");
  return response;
}

std::variant<Admitted, HttpResponse> RequestGate::admit(const HttpRequest& request, bool has_body) {
  Admitted admitted;
  RouteMatch match;
  const auto refused = [&](HttpResponse response) {
    service_.http_metrics().add_response(match.route != nullptr ? match.route->path : "other",
                                         response.status);
    log_.refusal("refused", response.status, request, response.error);
    return response;
  };
  const auto refuse = [&](const ApiError& error) {
    return refused(refusal_response(error, admitted.errors, admitted.id));
  };
  try {
    admitted.id = new_request_id();
    match = find_route(options_.routes, request.method, request.path);
    admitted.errors = error_form(match, request);
    const Route* route = match.route;
    const bool is_public = route != nullptr && route->access == Access::kPublic;
    if (request.is_reserved && !is_public) {
      throw ApiError(503, "too_many_connections",
                     "there are too many connections: try again later");
    }
    if (!is_host_allowed(request, route)) {
      throw ApiError(421, "misdirected_request",
                     "Host is not a name of this server: --allowed-hosts adds one");
    }
    const bool is_preflight = request.method == "OPTIONS" &&
                              !options_.access.cors_origins.empty() &&
                              request.field("origin") != nullptr;
    if (is_preflight && !match.allowed.empty()) return preflight(request, admitted.id);
    admitted.key = authenticate(request, route);
    const bool is_hidden = match.is_for_operators && !service_.is_operator(admitted.key);
    if (is_hidden || (route == nullptr && match.allowed.empty())) {
      throw ApiError(404, "not_found", "there is no such path");
    }
    if (route == nullptr) {
      HttpResponse response = refusal_response(
          {405, "method_not_allowed", "the path has no such method"}, admitted.errors, admitted.id);
      response.fields.emplace_back("Allow", match.allowed);
      return refused(std::move(response));
    }
    if (has_body && route->method != "POST") {
      throw ApiError(413, "body_not_expected", "requests of this method have no body");
    }
    if (route->method == "POST" && has_body && !is_json(request.field("content-type"))) {
      throw ApiError(415, "unsupported_media_type", "Content-Type has to be application/json");
    }
    const bool computes = route->kind == RouteKind::kWork;
    const bool is_refused_by_drain =
        computes || route->kind == RouteKind::kText || route->kind == RouteKind::kLoad;
    if (is_refused_by_drain && service_.is_draining()) throw draining();
    if (computes) {
      // This is checked before the body is read, which is most of the work under overload. It is
      // not thrown, since such refusals come in floods.
      if (service_.is_full() || service_.is_late(admitted.key)) {
        return refused(overload_response(admitted.errors, admitted.id));
      }
    }
    if (admitted.id.empty()) {
      throw Error(ErrorCode::kInternal, "the system gives no random numbers");
    }
    admitted.route = route;
    if (route->kind == RouteKind::kText) admitted.threads = HandlerThreads::kTexts;
    if (route->kind == RouteKind::kState) admitted.threads = HandlerThreads::kStates;
    if (route->kind == RouteKind::kLoad) {
      admitted.threads = HandlerThreads::kLoads;
      admitted.loads = wait_for_load({}, admitted.key);
    }
    return admitted;
  } catch (const ApiError& error) {
    return refuse(error);
  } catch (const std::exception& error) {
    log_.failure(match.route != nullptr ? match.route->path : "other", "", error.what());
    return refuse(api_error(Error(ErrorCode::kInternal, "")));
  }
}

Handled RequestGate::handle(const HttpRequest& request, const Admitted& admitted, Notify notify,
                            const std::atomic<bool>& has_left) {
  try {
    const Call call{.http = request,
                    .id = admitted.id,
                    .key = admitted.key,
                    .service = service_,
                    .has_left = has_left,
                    .loads = admitted.loads};
    if (admitted.loads.wait()) return load_adapters(admitted.loads, call);
    return call_endpoint(call, *admitted.route, notify);
  } catch (const ApiError& error) {
    return failed(error, admitted);
  } catch (const Error& error) {
    return failed(api_error(error), admitted);
  } catch (const std::bad_alloc&) {
    return failed(api_error(Error(ErrorCode::kDoesNotFit, "")), admitted);
  } catch (const std::exception& error) {
    return failed(api_error(Error(ErrorCode::kInternal, error.what())), admitted);
  }
}

Handled RequestGate::call_endpoint(const Call& call, const Route& route, const Notify& notify) {
  try {
    if (route.use) service_.require(*route.use);
    Reply reply = route.handler(call);
    if (auto* response = std::get_if<HttpResponse>(&reply)) return std::move(*response);
    return service_.start(std::move(std::get<Generation>(reply)), call.id, call.key, notify);
  } catch (NeedsLoad& needs) {
    return wait_for_load(std::move(needs.loads), call.key);
  }
}

AdapterLoads RequestGate::wait_for_load(AdapterLoads loads, std::size_t key) {
  std::vector<std::string> names;
  for (const MissingAdapter& adapter : loads.missing) names.push_back(adapter.name);
  // The only key leaves no places to others.
  const bool is_alone = service_.options().keys == 1;
  loads.place = loads_.enter(std::move(names), is_alone ? 0 : key);
  if (loads.place == nullptr) throw overloaded();
  loads.begin = std::chrono::steady_clock::now();
  return loads;
}

AdapterLoads RequestGate::load_adapters(const AdapterLoads& loads, const Call& call) {
  const ServiceLimits& limits = service_.options().limits;
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - loads.begin;
  if (waited.count() > std::min(limits.queue_seconds, limits.first_token_seconds())) {
    throw ApiError(503, "queue_timeout", "queue_timeout: the request waited too long for a load");
  }
  return load_missing(loads, call);
}

HttpResponse RequestGate::failed(const ApiError& error, const Admitted& admitted) {
  log_failure(error, admitted);
  return error_response(error, admitted.errors, admitted.id);
}

void RequestGate::log_failure(const ApiError& error, const Admitted& admitted) {
  if (error.status != 500 && error.cause.empty()) return;
  log_.failure(admitted.route->path, admitted.id, error.cause);
}

HttpResponse RequestGate::refusal(const HttpRefusal& refusal, const HttpRequest& request) {
  service_.http_metrics().add_response("other", refusal.status);
  HttpResponse response = invalid_http_response(refusal, request, options_.routes);
  log_.refusal("malformed", refusal.status, request, response.error);
  return response;
}

HttpResponse RequestGate::no_room(NoRoom what, const Admitted& admitted) {
  if (what == NoRoom::kText) return error_response(overloaded(), admitted.errors, admitted.id);
  return error_response(
      {503, "out_of_memory", "too many large responses are being sent: try again later"},
      admitted.errors, admitted.id);
}

ApiError RequestGate::error_of(const Outcome& outcome) const {
  if (outcome.error) return api_error(*outcome.error);
  if (service_.is_draining()) return draining();
  ApiError error(503, "cancelled", "the request was cancelled");
  error.retry_seconds = 0;
  return error;
}

HttpResponse RequestGate::failure(const Outcome& outcome, const Admitted& admitted,
                                  ResponseWriter& writer, std::string* events) {
  const ApiError error = error_of(outcome);
  if (events == nullptr) return failed(error, admitted);
  log_failure(error, admitted);
  writer.write_error(error, *events);
  return {};
}

void RequestGate::ended(const HttpRequest& request, const Admitted& admitted,
                        const RequestEnd& end) {
  service_.forget(admitted.id);
  service_.http_metrics().add_response(admitted.route->path, end.status);
  try {
    if (log_.has_requests()) {
      log_end(request, admitted, end);
    } else if (!end.error.code.empty() && end.status != 500) {
      log_.refusal(end.status == kClientLeft ? "left" : "refused", end.status, request, end.error);
    }
  } catch (const std::bad_alloc&) {
    service_.http_metrics().log_lines_dropped.fetch_add(1);
  }
}

void RequestGate::log_end(const HttpRequest& request, const Admitted& admitted,
                          const RequestEnd& end) {
  if (admitted.route->kind == RouteKind::kState && end.status < 400) return;
  Json line = Json::object();
  line.set("id", admitted.id);
  if (!options_.keys.is_empty() && admitted.key > 0)
    line.set("key", options_.keys.id(admitted.key));
  line.set("method", admitted.route->method);
  line.set("route", admitted.route->path);
  line.set("status", end.status);
  if (!end.adapters.empty()) line.set("adapters", end.adapters);
  line.set("seconds", end.seconds);
  line.set("prompt_tokens", end.prompt_tokens);
  line.set("generated_tokens", end.generated_tokens);
  if (end.first_token_seconds) line.set("first_token_seconds", *end.first_token_seconds);
  if (end.prompt_tokens > 0) {
    line.set("computed_tokens", end.computed_tokens);
    line.set("cached_tokens", end.cached_tokens);
    if (end.miss.reason != MissReason::kNone) {
      line.set("miss", std::string(to_string(end.miss.reason)));
      line.set("miss_token", end.miss.token);
    }
  }
  if (end.is_cut) line.set("cut", true);
  if (end.status >= 400) add_refusal(line, request, end.error);
  if (const std::string* parent = request.field("traceparent")) {
    line.set("traceparent", printable(*parent, 64));
  }
  log_.request(line);
  log_.content(admitted.id, "request", end.request.text, end.request.is_cut);
  log_.content(admitted.id, "response", end.response.text, end.response.is_cut);
}

HttpFields RequestGate::common_fields(const HttpRequest& request, const Admitted* admitted) {
  HttpFields fields;
  // Responses to requests that are not admitted have their id already.
  if (admitted != nullptr) add_id_fields(fields, admitted->id, admitted->errors);
  if (const std::string* parent = request.field("traceparent")) {
    if (parent->size() <= 64 && is_http_token(*parent)) {
      fields.emplace_back("traceparent", *parent);
    }
  }
  if (request.field("origin") == nullptr || options_.access.cors_origins.empty()) return fields;
  if (const std::string* allowed = allowed_origin(request)) {
    fields.emplace_back("Access-Control-Allow-Origin", *allowed);
    fields.emplace_back("Access-Control-Expose-Headers", "X-Request-Id, request-id, Retry-After");
  }
  fields.emplace_back("Vary", "Origin");
  return fields;
}

}  // namespace ingot
