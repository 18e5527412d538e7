// LoadingPhase: answers 503 to all requests except /livez.
#include "server/loading_phase.h"

#include "server/common/request_id.h"
#include "server/operator/endpoints.h"
#include "server/routes.h"

namespace ingot {

std::variant<Admitted, HttpResponse> LoadingHandler::admit(const HttpRequest& request,
                                                           bool /*has_body*/) {
  const RouteMatch match = find_route(routes(), request.method, request.path);
  if (match.route != nullptr && match.route->handler == livez) {
    return HttpResponse{.body = std::string(kGoodState)};
  }
  return refusal_response({503, "loading", "the model is being loaded"}, error_form(match, request),
                          new_request_id());
}

HttpResponse LoadingHandler::refusal(const HttpRefusal& refusal, const HttpRequest& request) {
  return invalid_http_response(refusal, request, routes());
}

}  // namespace ingot
