// What is answered while there is no model yet.
#pragma once

#include "server/http/application.h"

namespace ingot {

/// Says 503 to all who come before the model is there, but that the process lives: probes see a
/// server that starts, and clients know to try again. It reads no body and computes nothing.
class Loading : public Application {
 public:
  std::variant<Admitted, HttpResponse> admit(const HttpRequest& request, bool has_body) override;
  std::variant<HttpResponse, std::shared_ptr<RunningGeneration>> handle(const HttpRequest& request,
                                                                        const Admitted& admitted,
                                                                        Notify notify) override;
  HttpResponse refusal(const HttpRefusal& refusal, const HttpRequest* request) override;
  ApiError generation_error(const Outcome& outcome, const Admitted& admitted) override;
  void ended(const HttpRequest& request, const Admitted& admitted, const RequestEnd& end) override;
  HttpFields common_fields(const HttpRequest& request, const Admitted* admitted) override;
  bool is_closing() const override { return true; }
};

}  // namespace ingot
