// GET /health, /livez and /readyz: health checks for probes, without an API key.
#include "server/common/route.h"
#include "server/common/service.h"
#include "server/operator/endpoints.h"

namespace ingot {

namespace {

HttpResponse state(bool is_good) {
  if (is_good) return {.body = std::string(kGoodState)};
  return {.status = 503, .body = R"({"status":"unavailable"})", .fields = {{"Retry-After", "1"}}};
}

}  // namespace

Reply health(const Call& call) { return state(call.service.is_serving()); }

Reply livez(const Call& call) { return state(call.service.is_alive()); }

Reply readyz(const Call& call) { return state(call.service.is_ready()); }

}  // namespace ingot
