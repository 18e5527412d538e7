// GET /props and GET /: the model, the options and the version.
#include "base/text.h"
#include "load/json_object.h"
#include "server/common/response_json.h"
#include "server/operator/endpoints.h"

namespace ingot {

Reply props(const Call& call) {
  const Service& service = call.service;
  const std::string* source = service.chat_source();
  return HttpResponse{
      .body = json_object({{"model", service.options().model_name},
                           {"version", service.options().version},
                           {"system_fingerprint", service.options().fingerprint},
                           {"max_model_len", service.context()},
                           {"vocab_size", service.limits().vocab},
                           {"embedding_size", service.limits().hidden},
                           {"end_tokens", service.end_tokens()},
                           {"settings", service.options().settings},
                           {"chat_template", source == nullptr ? Json() : Json(*source)}})
                  .dump()};
}

Reply front(const Call& call) {
  return HttpResponse{.type = "text/plain; charset=utf-8",
                      .body = cat("ingot ", call.service.options().version, " serves ",
                                  call.service.options().model_name,
                                  "\n\nPOST /v1/chat/completions, /v1/completions, /v1/embeddings\n"
                                  "GET  /v1/models, /props, /health, /metrics\n")};
}

}  // namespace ingot
