// Administration: what only the owner of the Unix socket may do.
#include "server/openai/endpoints.h"
#include "server/service.h"
#include "server/shared_prompts.h"

namespace ingot {

Reply admin_drain(const Call& call) {
  call.service.ask_to_stop();
  return HttpResponse{.body = R"({"status":"draining"})"};
}

Reply admin_flush_cache(const Call& call) {
  Engine& engine = call.service.engine();
  engine.between_steps([&] { engine.flush_prefixes(); });
  compute_shared_prompts(call.service);
  return HttpResponse{.body = R"({"status":"flushed"})"};
}

/// Where they do not hold, the process has ended (decision 11).
Reply admin_check(const Call& call) {
  Engine& engine = call.service.engine();
  engine.between_steps([&] { engine.check_invariants(); });
  return HttpResponse{.body = R"({"status":"ok"})"};
}

}  // namespace ingot
