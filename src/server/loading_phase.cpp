// LoadingPhase: answers 503 to all requests except /livez.
#include "server/loading_phase.h"

#include "server/common/api_error.h"
#include "server/operator/endpoints.h"
#include "server/routes.h"

namespace ingot {

std::variant<Admitted, HttpResponse> LoadingHandler::admit(const HttpRequest& request,
                                                           bool /*has_body*/) {
  const RouteMatch match = find_route(routes(), request.method, request.path);
  if (match.route != nullptr && match.route->handler == livez) {
    return HttpResponse{.body = std::string(kGoodState)};
  }
  return error_response({503, "loading", "the model is being loaded"}, match.errors);
}

HttpResponse LoadingHandler::refusal(const HttpRefusal& refusal, const HttpRequest& /*request*/) {
  return error_response({refusal.status, "invalid_http", refusal.message});
}

}  // namespace ingot
