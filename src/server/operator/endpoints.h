// HTTP endpoints for operators: health, metrics, running requests, administration.
#pragma once

#include "server/common/endpoint.h"

namespace ingot {

/// GET /props: the model, the options, the chat template.
Reply props(const Call& call);
/// GET /: a short text that says what runs here.
Reply front(const Call& call);
/// GET /health: whether the server accepts new work.
Reply health(const Call& call);
/// GET /livez: whether the engine computes; if not, the process should be restarted.
Reply livez(const Call& call);
/// GET /readyz: whether the server accepts new work and the engine's tick is not too long.
Reply readyz(const Call& call);
/// GET /metrics: counts in Prometheus' text form.
Reply metrics(const Call& call);
/// DELETE /v1/requests/{id}: cancels a request that came with the same API key.
Reply cancel_request(const Call& call);
/// POST /admin/drain: like SIGTERM, the server accepts no new work and ends.
Reply admin_drain(const Call& call);
/// POST /admin/flush-cache: evicts all cached prefixes that are not in use.
Reply admin_flush_cache(const Call& call);
/// POST /admin/check: checks the invariants of KV blocks and prefixes.
Reply admin_check(const Call& call);
/// GET /admin/steps: records of the engine's last steps, the oldest first.
Reply admin_steps(const Call& call);

}  // namespace ingot
