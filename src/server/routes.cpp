// The tables of all routes.
#include "server/routes.h"

#include <array>

#include "server/anthropic/endpoints.h"
#include "server/openai/endpoints.h"
#include "server/operator/endpoints.h"

namespace ingot {

namespace {

using enum Access;
using enum ErrorForm;
using enum RouteKind;

constexpr auto kRoutes = std::to_array<Route>({
    {"POST", "/v1/chat/completions", kKey, kWork, chat_completions},
    {"POST", "/v1/completions", kKey, kWork, completions},
    {"POST", "/v1/responses", kKey, kWork, responses},
    {"POST", "/v1/messages", kKey, kWork, messages, kAnthropic},
    {"POST", "/v1/messages/count_tokens", kKey, kText, count_tokens, kAnthropic},
    {"POST", "/v1/embeddings", kKey, kWork, embeddings},
    {"POST", "/tokenize", kKey, kText, tokenize},
    {"POST", "/detokenize", kKey, kText, detokenize},
    {"GET", "/tokenizer_info", kKey, kQuick, tokenizer_info},
    {"POST", "/apply-template", kKey, kText, apply_template},
    {"GET", "/props", kKey, kQuick, props},
    {"GET", "/", kKey, kQuick, front},
    {"GET", "/v1/models", kKey, kQuick, list_models},
    {"GET", "/v1/models/{name}", kKey, kQuick, get_model},
    {"DELETE", "/v1/requests/{id}", kKey, kQuick, cancel_request},
    {"GET", "/metrics", kKey, kQuick, metrics},
    {"GET", "/health", kPublic, kQuick, health},
    {"GET", "/livez", kPublic, kQuick, livez},
    {"GET", "/readyz", kPublic, kQuick, readyz},
});

constexpr auto kAdminRoutes = std::to_array<Route>({
    {"POST", "/admin/drain", kPublic, kQuick, admin_drain},
    {"POST", "/admin/flush-cache", kPublic, kControl, admin_flush_cache},
    {"POST", "/admin/check", kPublic, kControl, admin_check},
    {"GET", "/admin/steps", kPublic, kQuick, admin_steps},
    {"GET", "/metrics", kPublic, kQuick, metrics},
    {"GET", "/health", kPublic, kQuick, health},
    {"GET", "/livez", kPublic, kQuick, livez},
    {"GET", "/readyz", kPublic, kQuick, readyz},
});

}  // namespace

std::span<const Route> routes() { return kRoutes; }

std::span<const Route> admin_routes() { return kAdminRoutes; }

}  // namespace ingot
