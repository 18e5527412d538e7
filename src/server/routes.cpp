// Tables of routes: methods, paths, access and endpoints.
#include "server/routes.h"

#include <array>
#include <optional>
#include <utility>

#include "base/text.h"
#include "server/anthropic/endpoints.h"
#include "server/common/service.h"
#include "server/openai/endpoints.h"
#include "server/operator/endpoints.h"

namespace ingot {

namespace {

using enum Access;
using enum ErrorForm;
using enum RouteKind;

/// For routes that clients of both APIs use.
constexpr std::optional<ErrorForm> kOfClient{};
constexpr std::optional<ModelUse> kAnyUse{};

Reply front(const Call& call);

constexpr auto kRoutes = std::to_array<Route>({
    {"POST", "/v1/chat/completions", kKey, kWork, chat_completions, ModelUse::kText},
    {"POST", "/v1/completions", kKey, kWork, completions, ModelUse::kText},
    {"POST", "/infill", kKey, kWork, infill, ModelUse::kText},
    {"POST", "/v1/responses", kKey, kWork, responses, ModelUse::kText},
    {"POST", "/v1/responses/input_tokens", kKey, kText, count_response_tokens, ModelUse::kText},
    {"POST", "/v1/messages", kKey, kWork, messages, ModelUse::kText, kAnthropic},
    {"POST", "/v1/messages/count_tokens", kKey, kText, count_tokens, ModelUse::kText, kAnthropic},
    {"POST", "/v1/embeddings", kKey, kWork, embeddings, ModelUse::kEmbedding},
    {"POST", "/v1/rerank", kKey, kWork, rerank, ModelUse::kScore},
    {"POST", "/v2/rerank", kKey, kWork, rerank, ModelUse::kScore},
    {"POST", "/v1/score", kKey, kWork, score, ModelUse::kScore},
    {"POST", "/tokenize", kKey, kText, tokenize},
    {"POST", "/detokenize", kKey, kText, detokenize},
    {"GET", "/tokenizer_info", kKey, kState, tokenizer_info},
    {"POST", "/apply-template", kKey, kText, apply_template, ModelUse::kText},
    {"GET", "/props", kKey, kState, props},
    {"GET", "/version", kKey, kState, version},
    {"GET", "/", kKey, kState, front},
    {"GET", "/v1/models", kKey, kState, list_models, kAnyUse, kOfClient},
    {"GET", "/v1/models/{name}", kKey, kState, get_model, kAnyUse, kOfClient},
    {"GET", "/lora-adapters", kKey, kState, list_adapter_ids},
    {"POST", "/v1/load_lora_adapter", kOperator, kLoad, load_adapter_by_name},
    {"POST", "/v1/unload_lora_adapter", kOperator, kLoad, unload_adapter},
    {"GET", "/v1/lora_adapters", kOperator, kState, list_adapters},
    {"DELETE", "/v1/requests/{id}", kKey, kState, cancel_request},
    {"GET", "/metrics", kKey, kState, metrics},
    {"GET", "/health", kPublic, kState, health},
    {"GET", "/livez", kPublic, kState, livez},
    {"GET", "/readyz", kPublic, kState, readyz},
});

constexpr auto kAdminRoutes = std::to_array<Route>({
    {"POST", "/admin/drain", kPublic, kState, admin_drain},
    {"POST", "/admin/flush-cache", kPublic, kControl, admin_flush_cache},
    {"POST", "/admin/check", kPublic, kControl, admin_check},
    {"GET", "/admin/steps", kPublic, kState, admin_steps},
    {"POST", "/v1/load_lora_adapter", kPublic, kLoad, load_adapter_by_path},
    {"POST", "/v1/unload_lora_adapter", kPublic, kLoad, unload_adapter},
    {"GET", "/v1/lora_adapters", kPublic, kState, list_adapters},
    {"GET", "/metrics", kPublic, kState, metrics},
    {"GET", "/health", kPublic, kState, health},
    {"GET", "/livez", kPublic, kState, livez},
    {"GET", "/readyz", kPublic, kState, readyz},
});

/// GET /: names the model and lists the routes that it can serve.
Reply front(const Call& call) {
  const ServiceOptions& options = call.service.options();
  std::string text = cat("ingot ", options.version, " serves ", options.model_name, "\n\n");
  for (const Route& route : kRoutes) {
    if (route.use && !call.service.can(*route.use)) continue;
    if (route.access == kOperator && !call.service.is_operator(call.key)) continue;
    text += cat(route.method, " ", route.path, "\n");
  }
  return HttpResponse{.type = "text/plain; charset=utf-8", .body = std::move(text)};
}

}  // namespace

std::span<const Route> routes() { return kRoutes; }

std::span<const Route> admin_routes() { return kAdminRoutes; }

}  // namespace ingot
