// POST /v1/load_lora_adapter, /v1/unload_lora_adapter, GET /v1/lora_adapters: adapters come and go,
// in vLLM's forms. GET /lora-adapters: their indices, in llama.cpp's form.
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "load/json_object.h"
#include "runtime/adapters/adapter_name.h"
#include "server/common/common_params.h"
#include "server/common/served_adapters.h"
#include "server/common/service.h"
#include "server/operator/endpoints.h"

namespace ingot {

namespace {

constexpr std::size_t kPathBytesMax = 4096;

/// A request to load an adapter.
struct LoadWish {
  std::string name;
  std::optional<std::string> path;  ///< absent: the name
  float scale = 1;
  bool replaces = false;
  Json warnings{};  ///< those of Params
};

std::string read_name(Params& params) {
  auto name = params.text("lora_name", kAdapterNameBytesMax);
  if (!name) throw invalid_request("lora_name", "lora_name is missing");
  return *std::move(name);
}

LoadWish read_load(const Call& call) {
  const Json body = read_body(call);
  Params params(body);
  LoadWish wish{.name = read_name(params), .path = params.text("lora_path", kPathBytesMax)};
  wish.scale =
      static_cast<float>(params.real("scale", -kAdapterScaleMax, kAdapterScaleMax).value_or(1));
  wish.replaces = params.flag("load_inplace").value_or(false);
  params.finish();
  wish.warnings = params.warnings();
  as_api([&] { check_adapter_name(wish.name, "lora_name"); });
  if (call.service.has_model_name(wish.name)) {
    throw invalid_request("lora_name", cat("lora_name: the model is named ", wish.name));
  }
  if (!wish.replaces && call.service.adapters().has(wish.name)) {
    throw invalid_request("lora_name", cat("lora_name: an adapter named ", printable(wish.name, 64),
                                           " is loaded already: send load_inplace to replace it"));
  }
  return wish;
}

ApiError no_such_adapter(std::string message, std::string param) {
  return {404, "adapter_not_found", std::move(message), std::move(param)};
}

/// Says why an adapter was not loaded.
ApiError load_failure(const Error& error) {
  const std::string message = error.plain_message();
  switch (error.code()) {
    case ErrorCode::kModel:
      return {400, "invalid_adapter", message, "lora_path"};
    case ErrorCode::kInvalid:
      return {400, "too_many_adapters", message, "lora_name"};
    case ErrorCode::kDoesNotFit: {
      ApiError full(503, "out_of_memory", message, "lora_path");
      full.retry_seconds = 0;
      return full;
    }
    case ErrorCode::kIo:
      return {503, "unavailable", message, "lora_path"};
    default:
      return api_error(error);
  }
}

/// vLLM's response, which is a text, and the warnings about members and about files.
HttpResponse text_response(std::string_view name, std::string_view done, const Json& about_members,
                           const std::vector<std::string>& warnings = {}) {
  std::string text = cat("Success: LoRA adapter '", name, "' ", done, " successfully.");
  if (const Json::Array* members = about_members.as_array()) {
    for (const Json& warning : *members) {
      text += cat("\nwarning: ", *warning.find("param")->as_string(), ": ",
                  *warning.find("detail")->as_string());
    }
  }
  for (const std::string& warning : warnings) text += cat("\nwarning: ", printable(warning, 512));
  return {.type = "text/plain; charset=utf-8", .body = std::move(text)};
}

void require_loads(const Call& call) {
  if (call.service.adapters().can_load()) return;
  throw ApiError(400, "not_supported", "with --any-model the server has no adapters");
}

Reply load_below_folder(const Call& call, const LoadWish& wish) {
  ServedAdapters& adapters = call.service.adapters();
  const std::string& entry = wish.path ? *wish.path : wish.name;
  if (entry.find('/') != std::string::npos || entry == "." || entry == "..") {
    throw invalid_request("lora_path",
                          "lora_path names no folder of --lora-dir: expected a name without /");
  }
  if (!adapters.is_in_folder(entry)) {
    throw no_such_adapter(cat("lora_path: --lora-dir has no folder ", printable(entry, 64)),
                          "lora_path");
  }
  try {
    return text_response(
        wish.name, "added", wish.warnings,
        adapters.load_from_folder({.name = wish.name, .path = entry, .scale = wish.scale}));
  } catch (const Error& error) {
    throw load_failure(error);
  }
}

}  // namespace

Reply load_adapter_by_name(const Call& call) {
  if (!call.service.adapters().has_folder()) {
    throw ApiError(400, "not_supported", "the server has no --lora-dir");
  }
  return load_below_folder(call, read_load(call));
}

Reply load_adapter_by_path(const Call& call) {
  require_loads(call);
  ServedAdapters& adapters = call.service.adapters();
  const LoadWish wish = read_load(call);
  if (!wish.path && adapters.has_folder()) return load_below_folder(call, wish);
  if (!wish.path) throw invalid_request("lora_path", "lora_path is missing");
  std::error_code error;
  if (!std::filesystem::exists(*wish.path, error) && !error) {
    throw no_such_adapter(cat("lora_path: there is no ", printable(*wish.path, 256)), "lora_path");
  }
  try {
    return text_response(
        wish.name, "added", wish.warnings,
        adapters.load({.name = wish.name, .path = *wish.path, .scale = wish.scale}));
  } catch (const Error& failure) {
    throw load_failure(failure);
  }
}

Reply unload_adapter(const Call& call) {
  const Json body = read_body(call);
  Params params(body);
  const std::string name = read_name(params);
  params.finish();
  if (!call.service.adapters().unload(name)) {
    throw no_such_adapter(cat("lora_name: no adapter named ", printable(name, 64), " is loaded"),
                          "lora_name");
  }
  return text_response(name, "removed", params.warnings());
}

Reply list_adapters(const Call& call) {
  Json data = Json::array();
  for (const AdapterState& state : call.service.adapters().states()) {
    const LoadedAdapter& adapter = *state.adapter;
    Json warnings = Json::array();
    for (const std::string& warning : state.warnings) warnings.push(printable(warning, 512));
    data.push(json_object({{"lora_name", adapter.source.name},
                           {"scale", static_cast<double>(adapter.source.scale)},
                           {"base_model", adapter.base_model},
                           {"bytes", adapter.adapter->bytes},
                           {"generation", static_cast<std::int64_t>(adapter.generation)},
                           {"requests", static_cast<std::int64_t>(state.requests)},
                           {"warnings", std::move(warnings)}}));
  }
  return HttpResponse{.body = json_object({{"object", "list"}, {"data", std::move(data)}}).dump()};
}

Reply list_adapter_ids(const Call& call) {
  Json list = Json::array();
  const ServedAdapters& adapters = call.service.adapters();
  for (std::int64_t id = 0; const std::string* name = adapters.name_of(id); ++id) {
    // A request without `lora` uses none of them.
    if (adapters.has(*name)) {
      list.push(json_object({{"id", id}, {"path", *name}, {"scale", 0.0}}));
    }
  }
  return HttpResponse{.body = list.dump()};
}

}  // namespace ingot
