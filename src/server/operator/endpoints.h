// HTTP endpoints for operators: health, metrics, running requests, administration.
#pragma once

#include "server/common/endpoint.h"

namespace ingot {

/// GET /props: describes the model, the options and the chat template.
Reply props(const Call& call);
/// GET /version: returns the program's version.
Reply version(const Call& call);
/// GET /health: tells whether the server accepts new work.
Reply health(const Call& call);
/// GET /livez: tells whether the engine works. If not, the process should be restarted.
Reply livez(const Call& call);
/// GET /readyz: tells whether the server accepts new work and no tick of the engine takes too long.
Reply readyz(const Call& call);
/// GET /metrics: returns metrics in Prometheus' text format.
Reply metrics(const Call& call);
/// DELETE /v1/requests/{id}: cancels a request that was sent with the caller's API key.
Reply cancel_request(const Call& call);
/// POST /v1/load_lora_adapter over TCP: loads an adapter from a folder of --lora-dir.
Reply load_adapter_by_name(const Call& call);
/// POST /v1/load_lora_adapter on the admin socket: loads an adapter from any path.
Reply load_adapter_by_path(const Call& call);
/// POST /v1/unload_lora_adapter: takes the name from an adapter. Requests under way keep it.
Reply unload_adapter(const Call& call);
/// GET /v1/lora_adapters: describes the loaded adapters.
Reply list_adapters(const Call& call);
/// GET /lora-adapters: returns the indices of the adapters of --lora, in llama.cpp's form.
Reply list_adapter_ids(const Call& call);
/// POST /admin/drain: stops the server as SIGTERM does. A stopping server refuses new work.
Reply admin_drain(const Call& call);
/// POST /admin/flush-cache: evicts all cached prefixes that are not in use.
Reply admin_flush_cache(const Call& call);
/// POST /admin/check: checks the invariants of KV blocks and prefixes.
Reply admin_check(const Call& call);
/// GET /admin/steps: returns records of the engine's last steps, the oldest first.
Reply admin_steps(const Call& call);

}  // namespace ingot
