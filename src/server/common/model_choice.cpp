// read_model: resolves the names of models and adapters, and loads adapters on first use.
#include "server/common/model_choice.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "runtime/adapters/adapter_name.h"
#include "server/common/message_text.h"
#include "server/common/served_adapters.h"
#include "server/common/service.h"

namespace ingot {

namespace {

/// An adapter that a request names.
struct NamedAdapter {
  std::string name{};
  double scale = 1;
  std::string param{};  ///< the member that names it
};

/// The names of a request.
struct ModelNames {
  std::string response;  ///< the model's name for the response
  std::vector<NamedAdapter> adapters{};
};

ApiError unknown_name(std::string_view name, std::string param) {
  return {404, "model_not_found",
          cat("the model ", printable(name, 64), " is not served here: see /v1/models"),
          std::move(param)};
}

/// Reads an entry of `lora`. Errors: ApiError naming its member.
NamedAdapter read_entry(const Json& value, const std::string& place, Params& params,
                        const Service& service) {
  if (value.as_object() == nullptr) {
    refuse_at(place, cat("is ", value.kind(), ", expected an object with name and scale"));
  }
  Params entry(value, cat(place, "."));
  const bool has_id = entry.has("id");
  NamedAdapter adapter{.param = entry.full(has_id ? "id" : "name")};
  const auto id = entry.whole("id", 0, std::int64_t{1} << 31);
  const auto name = entry.text("name", kAdapterNameBytesMax);
  if (id.has_value() == name.has_value()) {
    refuse_at(place, id ? "has a name and an id" : "has neither a name nor an id");
  }
  adapter.scale = entry.real("scale", -kAdapterScaleMax, kAdapterScaleMax).value_or(1);
  entry.finish();
  params.add_warnings(entry);
  if (name) {
    adapter.name = *name;
    return adapter;
  }
  const std::string* found = service.adapters().name_of(*id);
  if (found == nullptr) throw unknown_name(cat("lora ", *id), adapter.param);
  adapter.name = *found;
  return adapter;
}

/// Reads `lora`. Errors: ApiError naming the member or its entry.
void read_lora(Params& params, const Service& service, ModelNames& names) {
  const Json* list = params.array("lora");
  if (list == nullptr || list->as_array()->empty()) return;
  if (!names.adapters.empty()) {
    throw invalid_request(
        "lora", cat("lora: the model ", printable(names.response, 64), " is an adapter already"));
  }
  const Json::Array& entries = *list->as_array();
  if (entries.size() > kAdaptersMax) {
    throw invalid_request(
        "lora", cat("lora has ", entries.size(), " entries, possible are ", kAdaptersMax));
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    NamedAdapter adapter = read_entry(entries[i], entry_place("lora", i), params, service);
    const bool comes_twice =
        std::any_of(names.adapters.begin(), names.adapters.end(),
                    [&](const NamedAdapter& other) { return other.name == adapter.name; });
    if (comes_twice) refuse_at(adapter.param, "names an adapter for the second time");
    names.adapters.push_back(std::move(adapter));
  }
}

/// Reads the names. Adapters may be unknown.
ModelNames read_names(Params& params, const Service& service) {
  const ServiceOptions& options = service.options();
  ModelNames names{.response = options.model_name};
  if (const Json* name = params.take("model")) {
    const std::string* text = name->as_string();
    if (text == nullptr) {
      throw invalid_request("model", cat("model is ", name->kind(), ", expected a string"));
    }
    if (service.has_model_name(*text)) {
      names.response = *text;
    } else if (options.any_model) {
      params.warn("model", "ignored", cat("the server has only the model ", options.model_name));
    } else {
      names.response = *text;
      names.adapters.push_back({.name = *text, .param = "model"});
    }
  }
  read_lora(params, service, names);
  return names;
}

/// Why an adapter of --lora-dir cannot be loaded. Only the log has the reason.
ApiError load_failure(const MissingAdapter& wanted, const Error& error) {
  const std::string name = printable(wanted.name, 64);
  ApiError failure(500, "adapter_error",
                   cat("the adapter ", name, " cannot be loaded: the server's log says why"),
                   wanted.param);
  if (error.code() == ErrorCode::kInvalid) {
    failure = {503, "adapters_full",
               cat("the adapter ", name, " has no place: an operator has to unload another one"),
               wanted.param};
    failure.retry_seconds = 0;
  } else if (error.code() == ErrorCode::kDoesNotFit) {
    failure = {503, "out_of_memory",
               cat("there is no memory for the adapter ", name, " beside the other adapters"),
               wanted.param};
    failure.retry_seconds = LoadFailures::kKept.count();
  }
  failure.cause = error.plain_message();
  return failure;
}

/// The adapter, if it is loaded or the request waited for it.
std::shared_ptr<const LoadedAdapter> find_adapter(const NamedAdapter& wanted, const Call& call) {
  for (const auto& adapter : call.loads.loaded) {
    if (adapter->source.name == wanted.name) return adapter;
  }
  return call.service.adapters().use(wanted.name);
}

/// Adds an adapter that is not loaded. Errors: ApiError for one that no folder can have.
void add_missing(const NamedAdapter& wanted, const Call& call, AdapterLoads& loads) {
  const bool may_exist = call.service.adapters().may_be_in_folder(wanted.name);
  if (!may_exist) throw unknown_name(wanted.name, wanted.param);
  loads.missing.push_back({.name = wanted.name, .param = wanted.param});
}

/// Errors: ApiError or NeedsLoad unless all adapters exist.
void check_adapters(std::span<const NamedAdapter> adapters, const Call& call) {
  if (call.loads.are_done) return;
  AdapterLoads loads{.only_exist = true};
  for (const NamedAdapter& wanted : adapters) {
    if (!call.service.adapters().has(wanted.name)) add_missing(wanted, call, loads);
  }
  if (!loads.missing.empty()) throw NeedsLoad{std::move(loads)};
}

}  // namespace

ChosenModel read_model(Params& params, const Call& call) {
  ModelNames names = read_names(params, call.service);
  std::vector<AdapterChoice> choices;
  AdapterLoads loads;
  for (const NamedAdapter& wanted : names.adapters) {
    auto adapter = find_adapter(wanted, call);
    if (adapter == nullptr) {
      add_missing(wanted, call, loads);
      continue;
    }
    loads.loaded.push_back(adapter);
    // An adapter with the scale 0 changes nothing.
    if (wanted.scale == 0) continue;
    choices.push_back({.adapter = std::move(adapter), .scale = static_cast<float>(wanted.scale)});
  }
  if (!loads.missing.empty()) throw NeedsLoad{std::move(loads)};
  return {.name = std::move(names.response),
          .adapters = as_api([&] { return call.service.adapters().list(choices); }),
          .fingerprint = call.service.fingerprint_with(choices)};
}

void check_model(Params& params, const Call& call) {
  check_adapters(read_names(params, call.service).adapters, call);
}

void check_name(const std::string& name, const Call& call) {
  if (call.service.has_model_name(name)) return;
  const NamedAdapter adapter{.name = name, .param = "model"};
  check_adapters({&adapter, 1}, call);
}

AdapterLoads load_missing(AdapterLoads loads, const Call& call) {
  ServedAdapters& adapters = call.service.adapters();
  for (const MissingAdapter& wanted : loads.missing) {
    call.require_wanted();
    auto adapter = adapters.use(wanted.name);
    const bool exists = adapter != nullptr || adapters.is_in_folder(wanted.name);
    if (!exists) throw unknown_name(wanted.name, wanted.param);
    if (loads.only_exist) continue;
    try {
      if (adapter == nullptr) adapter = adapters.use_or_load(wanted.name);
    } catch (const Error& error) {
      throw load_failure(wanted, error);
    }
    if (adapter == nullptr) throw unknown_name(wanted.name, wanted.param);
    loads.loaded.push_back(std::move(adapter));
  }
  loads.are_done = true;
  loads.place.reset();
  return loads;
}

}  // namespace ingot
