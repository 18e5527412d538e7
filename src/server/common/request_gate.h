// RequestGate: admits or refuses requests, and hands the admitted ones to their endpoints.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/index.h"
#include "server/common/api_keys.h"
#include "server/common/auth_failures.h"
#include "server/common/load_queue.h"
#include "server/common/request_log.h"
#include "server/common/route.h"
#include "server/common/service.h"
#include "server/http/request_handler.h"

namespace ingot {

/// Options about access: API keys, host names, web origins.
struct AccessOptions {
  std::optional<std::string> api_key_file{};
  bool no_auth = false;  ///< true: serve other machines without API keys
  /// Names that a Host field may have besides localhost, 127.0.0.1 and [::1]; "*": any.
  std::vector<std::string> allowed_hosts{};
  /// Web origins that may use the API (CORS). "*" allows any origin, and requires API keys.
  std::vector<std::string> cors_origins{};
  std::vector<std::string> operator_keys{};  ///< IDs of operators' API keys
  std::vector<std::string> key_weights{};    ///< each "ID=WEIGHT": relative share of an API key
};

/// The rules by which a gate admits requests.
struct GateOptions {
  AccessOptions access{};  ///< options, with `allowed_hosts` in lower case
  ApiKeys keys{};
  std::span<const Route> routes{};
};

/// Maximum bytes that --log-content writes of each request body and each response body.
inline constexpr std::size_t kContentBytesMax = 64 << 10;

/// Handles HTTP requests: checks access and limits, calls endpoints, writes the log.
class RequestGate final : public RequestHandler {
 public:
  RequestGate(GateOptions options, Service& service, ServerLog& log)
      : options_(std::move(options)),
        service_(service),
        log_(log),
        loads_(to_size(2 * service.adapters().adapters_max()),
               to_size(service.options().limits.queue)) {}

  std::variant<Admitted, HttpResponse> admit(const HttpRequest& request, bool has_body) override;
  Handled handle(const HttpRequest& request, const Admitted& admitted, Notify notify,
                 const std::atomic<bool>& has_left) override;
  HttpResponse refusal(const HttpRefusal& refusal, const HttpRequest& request) override;
  HttpResponse no_room(NoRoom what, const Admitted& admitted) override;
  HttpResponse failure(const Outcome& outcome, const Admitted& admitted, ResponseWriter& writer,
                       std::string* events) override;
  void ended(const HttpRequest& request, const Admitted& admitted, const RequestEnd& end) override;
  HttpFields common_fields(const HttpRequest& request, const Admitted* admitted) override;
  std::size_t content_bytes_max() const override {
    return log_.has_contents() ? kContentBytesMax : 0;
  }
  bool is_closing() const override { return service_.is_draining(); }

 private:
  bool is_host_allowed(const HttpRequest& request, const Route* route) const;
  /// Returns the number of the API key; 0: no key is needed. Errors: ApiError for a wrong key.
  std::size_t authenticate(const HttpRequest& request, const Route* route);
  std::size_t check_key(const HttpRequest& request);
  /// Returns the entry of `cors_origins` that matches the request's origin; null if none does.
  const std::string* allowed_origin(const HttpRequest& request) const;
  HttpResponse preflight(const HttpRequest& request, const std::string& id) const;
  Handled call_endpoint(const Call& call, const Route& route, const Notify& notify);
  /// Gives a request of a key a place in the queue of loads. Errors: ApiError if there is none.
  AdapterLoads wait_for_load(AdapterLoads loads, std::size_t key);
  /// Errors: those of `load_missing`; ApiError if the request waited too long.
  AdapterLoads load_adapters(const AdapterLoads& loads, const Call& call);
  ApiError error_of(const Outcome& outcome) const;
  /// Makes the response to an error. Logs an error that has a cause.
  HttpResponse failed(const ApiError& error, const Admitted& admitted);
  void log_end(const HttpRequest& request, const Admitted& admitted, const RequestEnd& end);
  void log_failure(const ApiError& error, const Admitted& admitted);

  GateOptions options_;
  Service& service_;
  ServerLog& log_;
  AuthFailures auth_failures_;
  LoadQueue loads_;  ///< twice as many adapters may be waited for as have places
};

}  // namespace ingot
