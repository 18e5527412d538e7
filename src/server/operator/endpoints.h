// The endpoints for operators: health, metrics, running requests, administration.
#pragma once

#include "server/http/handler.h"

namespace ingot {

/// GET /props: the model, the options, the chat template.
Reply props(const Call& call);
/// GET /: a few lines for whoever looks.
Reply front(const Call& call);
/// GET /health: whether new work is taken.
Reply health(const Call& call);
/// GET /livez: whether the process should be left alone.
Reply livez(const Call& call);
/// GET /readyz: the same as /health, by the name that Kubernetes uses.
Reply readyz(const Call& call);
/// GET /metrics: counts in Prometheus' text form.
Reply metrics(const Call& call);
/// DELETE /v1/requests/{id}: cancels a request of the same key.
Reply cancel_request(const Call& call);
/// POST /admin/drain: as SIGTERM, the server takes no new work and ends.
Reply admin_drain(const Call& call);
/// POST /admin/flush-cache: forgets all prefixes that are not in use.
Reply admin_flush_cache(const Call& call);
/// POST /admin/check: that every KV block and prefix is where the books say.
Reply admin_check(const Call& call);
/// GET /admin/steps: what the engine's last steps were, the oldest first.
Reply admin_steps(const Call& call);

}  // namespace ingot
