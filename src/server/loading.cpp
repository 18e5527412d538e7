// Answers without a model.
#include "server/loading.h"

#include "server/operator/endpoints.h"
#include "server/routes.h"

namespace ingot {

namespace {

ApiError loading() { return {503, "server_error", "loading", "the model is being loaded"}; }

}  // namespace

std::variant<Admitted, HttpResponse> Loading::admit(const HttpRequest& request, bool /*has_body*/) {
  const RouteMatch match = find_route(routes(), request.method, request.path);
  if (match.route != nullptr && match.route->handler == livez) {
    return HttpResponse{.body = std::string(kGoodState)};
  }
  return error_response(loading(), match.errors);
}

/// Nothing is admitted.
std::variant<HttpResponse, std::shared_ptr<RunningGeneration>> Loading::handle(
    const HttpRequest& /*request*/, const Admitted& /*admitted*/, Notify /*notify*/) {
  return error_response(loading());
}

HttpResponse Loading::refusal(const HttpRefusal& refusal, const HttpRequest* /*request*/) {
  return error_response({refusal.status, "invalid_request_error", "invalid_http", refusal.message});
}

ApiError Loading::generation_error(const Outcome& /*outcome*/, const Admitted& /*admitted*/) {
  return loading();
}

void Loading::ended(const HttpRequest& /*request*/, const Admitted& /*admitted*/,
                    const RequestEnd& /*end*/) {}

HttpFields Loading::common_fields(const HttpRequest& /*request*/, const Admitted* /*admitted*/) {
  return {};
}

}  // namespace ingot
