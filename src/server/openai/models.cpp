// GET /v1/models and /v1/models/{id}
#include "server/common/shapes.h"
#include "server/http/route.h"
#include "server/openai/endpoints.h"

namespace ingot {

namespace {

Json model_json(const Service& service) {
  Json j = Json::object();
  j.set("id", service.options().model_name);
  j.set("object", "model");
  j.set("created", service.started());
  j.set("owned_by", "ingot");
  j.set("max_model_len", service.context());
  return j;
}

}  // namespace

Reply list_models(const Call& call) {
  Json data = Json::array();
  data.push(model_json(call.service));
  Json j = Json::object();
  j.set("object", "list");
  j.set("data", std::move(data));
  return HttpResponse{.body = j.dump()};
}

Reply get_model(const Call& call) {
  call.service.check_model(path_name(call.http.path, "/models/"));
  return HttpResponse{.body = model_json(call.service).dump()};
}

}  // namespace ingot
