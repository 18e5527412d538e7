// GET /props and GET /version: the model, the options and the program's version.
#include "load/json_object.h"
#include "server/common/service.h"
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

Reply version(const Call& call) {
  return HttpResponse{.body = json_object({{"version", call.service.options().version}}).dump()};
}

}  // namespace ingot
