// RequestGate: admits or refuses requests, and hands the admitted ones to their endpoints.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "server/common/api_keys.h"
#include "server/common/auth_failures.h"
#include "server/common/request_log.h"
#include "server/common/route.h"
#include "server/common/service.h"
#include "server/http/request_handler.h"

namespace ingot {

/// The operator's choices about access.
struct AccessOptions {
  std::optional<std::string> api_key_file{};
  bool no_auth = false;  ///< listen on addresses that others reach, without keys
  /// Names besides localhost, 127.0.0.1 and [::1] that Host may have; "*" for any.
  std::vector<std::string> allowed_hosts{};
  /// Origins whose pages may use the API; "*" for any, which takes keys.
  std::vector<std::string> cors_origins{};
  std::vector<std::string> operator_keys{};  ///< IDs of keys that see all counts
  std::vector<std::string> key_weights{};    ///< "ID=WEIGHT"
};

/// What the gate checks of a request.
struct GateOptions {
  AccessOptions access{};  ///< with allowed hosts in lower case
  ApiKeys keys{};
  std::span<const Route> routes{};
};

/// Bytes of a request, and of a response, in the log.
inline constexpr std::size_t kContentBytesMax = 64 << 10;

/// The API behind the transport.
class RequestGate final : public RequestHandler {
 public:
  RequestGate(GateOptions options, Service& service, ServerLog& log)
      : options_(std::move(options)), service_(service), log_(log) {}

  std::variant<Admitted, HttpResponse> admit(const HttpRequest& request, bool has_body) override;
  std::variant<HttpResponse, std::shared_ptr<RunningGeneration>> handle(const HttpRequest& request,
                                                                        const Admitted& admitted,
                                                                        Notify notify) override;
  HttpResponse refusal(const HttpRefusal& refusal, const HttpRequest* request) override;
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
  /// The number of the request's key; throws where it has no valid key.
  std::size_t authenticate(const HttpRequest& request, const Route* route);
  std::size_t check_key(const HttpRequest& request);
  /// The entry of `cors_origins` that a request comes from; null where there is none.
  const std::string* allowed_origin(const HttpRequest& request) const;
  HttpResponse preflight(const HttpRequest& request) const;
  ApiError error_of(const Outcome& outcome) const;
  /// The error's response; the log says why the server itself failed.
  HttpResponse failed(const ApiError& error, const Admitted& admitted);
  void log_end(const HttpRequest& request, const Admitted& admitted, const RequestEnd& end);
  void log_failure(const ApiError& error, const Admitted& admitted);

  GateOptions options_;
  Service& service_;
  ServerLog& log_;
  AuthFailures auth_failures_;
};

}  // namespace ingot
