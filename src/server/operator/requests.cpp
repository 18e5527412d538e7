// DELETE /v1/requests/{id}: cancels a request.
#include "server/common/route.h"
#include "server/common/service.h"
#include "server/operator/endpoints.h"

namespace ingot {

Reply cancel_request(const Call& call) {
  std::string id = path_name(call.http.path, "/requests/");
  // Ids of responses have a prefix for their kind: "chatcmpl-...", "resp_...".
  id.erase(0, id.find_last_of("-_") + 1);
  if (!call.service.cancel(id, call.key)) {
    throw ApiError(404, "request_not_found", "no request of that id is under way");
  }
  return HttpResponse{.body = R"({"object":"request.cancelled"})"};
}

}  // namespace ingot
