// GET /v1/models and /v1/models/{id}: the one model that is served.
#include "load/json_object.h"
#include "server/common/route.h"
#include "server/common/service.h"
#include "server/openai/endpoints.h"

namespace ingot {

namespace {

Json model_json(const Service& service) {
  return json_object({{"id", service.options().model_name},
                      {"object", "model"},
                      {"created", service.started()},
                      {"owned_by", "ingot"},
                      {"max_model_len", service.context()}});
}

}  // namespace

Reply list_models(const Call& call) {
  Json data = Json::array();
  data.push(model_json(call.service));
  return HttpResponse{.body = json_object({{"object", "list"}, {"data", std::move(data)}}).dump()};
}

Reply get_model(const Call& call) {
  call.service.check_model(path_name(call.http.path, "/models/"));
  return HttpResponse{.body = model_json(call.service).dump()};
}

}  // namespace ingot
