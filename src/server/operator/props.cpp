// GET /props and GET /: what this server is.
#include "base/text.h"
#include "server/common/shapes.h"
#include "server/operator/endpoints.h"

namespace ingot {

Reply props(const Call& call) {
  const Service& service = call.service;
  const std::string* source = service.chat_source();
  Json j = Json::object();
  j.set("model", service.options().model_name);
  j.set("version", service.options().version);
  j.set("system_fingerprint", service.options().fingerprint);
  j.set("max_model_len", service.context());
  j.set("vocab_size", service.limits().vocab);
  j.set("embedding_size", service.limits().hidden);
  j.set("end_token_ids", ids_json(service.end_ids()));
  j.set("settings", service.options().settings);
  j.set("chat_template", source == nullptr ? Json() : Json(*source));
  return HttpResponse{.body = j.dump()};
}

Reply front(const Call& call) {
  return HttpResponse{.type = "text/plain; charset=utf-8",
                      .body = cat("ingot ", call.service.options().version, " serves ",
                                  call.service.options().model_name,
                                  "\n\nPOST /v1/chat/completions, /v1/completions, /v1/embeddings\n"
                                  "GET  /v1/models, /props, /health, /metrics\n")};
}

}  // namespace ingot
