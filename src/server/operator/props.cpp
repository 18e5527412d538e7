// GET /props and GET /version: the model, the options and the program's version.
#include <string_view>

#include "load/json_object.h"
#include "server/common/response_json.h"
#include "server/common/service.h"
#include "server/operator/endpoints.h"

namespace ingot {

namespace {

/// Returns the template of chats; null if there is none, or if the model generates no text. A
/// reranker's template is for a query and a document.
const ServedChat* chat_of(const Service& service, bool has_tools) {
  return service.can(ModelUse::kText) ? service.find_chat(has_tools) : nullptr;
}

/// How the model writes calls of tools and reasoning; null if it has no template for chats with
/// tools.
Json tool_calls_json(const Service& service) {
  const ServedChat* chat = chat_of(service, true);
  if (chat == nullptr) return {};
  const ToolDialect& dialect = *chat->dialect;
  return json_object({{"dialect", dialect.name()}, {"native", dialect.is_native()}});
}

Json reasoning_json(const Service& service) {
  const ServedChat* chat = chat_of(service, false);
  if (chat == nullptr) return {};
  const std::string_view end = chat->dialect->reasoning_end();
  return json_object({{"end", end.empty() ? Json() : Json(end)},
                      {"effort", chat->knows("reasoning_effort")},
                      {"switch", chat->knows("enable_thinking")}});
}

Json adapters_json(const Service& service) {
  Json list = Json::array();
  for (const AdapterState& state : service.adapters().states()) {
    const AdapterSource& source = state.adapter->source;
    list.push(json_object({{"name", source.name}, {"scale", static_cast<double>(source.scale)}}));
  }
  return list;
}

/// What requests can ask for.
Json capabilities_json(const Service& service) {
  const bool generates = service.can(ModelUse::kText);
  const bool has_text = generates && service.has_tokenizer();
  const ServedChat* chat = chat_of(service, false);
  const bool has_tools = chat_of(service, true) != nullptr;
  return json_object({{"completions", generates},
                      {"embeddings", service.can(ModelUse::kEmbedding)},
                      {"rerank", service.can(ModelUse::kScore)},
                      {"chat", chat != nullptr},
                      {"tool_calls", has_tools},
                      {"parallel_tool_calls", has_tools},
                      {"reasoning", chat != nullptr && !chat->dialect->reasoning_end().empty()},
                      {"json_schema", has_text},
                      {"regex", has_text},
                      {"grammar", has_text},
                      {"structural_tag", has_text},
                      {"lora", service.adapters().are_possible()}});
}

}  // namespace

Reply props(const Call& call) {
  const Service& service = call.service;
  Json body = json_object({{"model", service.options().model_name},
                           {"version", service.options().version},
                           {"system_fingerprint", service.fingerprint_with()},
                           {"max_model_len", service.context()},
                           {"vocab_size", service.limits().vocab},
                           {"embedding_size", service.limits().hidden},
                           {"adapters", adapters_json(service)},
                           {"end_tokens", service.end_tokens()},
                           {"tool_calls", tool_calls_json(service)},
                           {"reasoning", reasoning_json(service)},
                           {"capabilities", capabilities_json(service)},
                           {"settings", service.options().settings},
                           {"chat_template", chat_source_json(service)}});
  if (service.has_tools_chat()) {
    body.set("chat_template_tool_use", service.chat(true).chat.source());
  }
  return HttpResponse{.body = body.dump()};
}

Reply version(const Call& call) {
  return HttpResponse{.body = json_object({{"version", call.service.options().version}}).dump()};
}

}  // namespace ingot
