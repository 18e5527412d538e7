// GET /v1/models and /v1/models/{name}: all names of the one model that is served, and its
// adapters.
#include <ctime>

#include "load/json_object.h"
#include "server/common/model_choice.h"
#include "server/common/route.h"
#include "server/common/service.h"
#include "server/openai/endpoints.h"

namespace ingot {

namespace {

/// A time in seconds since 1970 as "2025-12-31T23:59:59Z".
std::string rfc3339(std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm utc{};
  gmtime_r(&time, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

/// An adapter has the model as its parent.
Json openai_model(const Service& service, const std::string& name) {
  const std::string& main = service.options().model_name;
  const bool is_model = service.has_model_name(name);
  return json_object({{"id", name},
                      {"object", "model"},
                      {"created", service.started()},
                      {"owned_by", "ingot"},
                      {"root", is_model ? main : name},
                      {"parent", is_model ? Json() : Json(main)},
                      {"max_model_len", service.context()}});
}

Json anthropic_model(const Service& service, const std::string& name) {
  return json_object({{"type", "model"},
                      {"id", name},
                      {"display_name", name},
                      {"created_at", rfc3339(service.started())}});
}

Json model_json(const Call& call, const std::string& name) {
  return is_of_anthropic(call.http) ? anthropic_model(call.service, name)
                                    : openai_model(call.service, name);
}

}  // namespace

Reply list_models(const Call& call) {
  std::vector<std::string> names = call.service.model_names();
  for (const AdapterState& state : call.service.adapters().states()) {
    names.push_back(state.adapter->source.name);
  }
  Json data = Json::array();
  for (const std::string& name : names) data.push(model_json(call, name));
  // All names fit into one page, so nothing reads the query's `limit`, `before_id` and `after_id`.
  const Json list = is_of_anthropic(call.http)
                        ? json_object({{"data", std::move(data)},
                                       {"has_more", false},
                                       {"first_id", names.front()},
                                       {"last_id", names.back()}})
                        : json_object({{"object", "list"}, {"data", std::move(data)}});
  return HttpResponse{.body = list.dump()};
}

Reply get_model(const Call& call) {
  const std::string name = path_name(call.http.path, "/models/");
  check_name(name, call);
  return HttpResponse{.body = model_json(call, name).dump()};
}

}  // namespace ingot
