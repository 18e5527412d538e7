// read_model: reads which model and which adapters a request names.
#pragma once

#include <memory>
#include <string>

#include "runtime/adapters/adapter_list.h"
#include "server/common/endpoint.h"
#include "server/common/params.h"

namespace ingot {

/// The model of a request, with the adapters that the request uses to its end.
struct ChosenModel {
  std::string name;                               ///< for the response
  std::shared_ptr<const AdapterList> adapters{};  ///< null: none
  std::string fingerprint{};                      ///< "system_fingerprint" of the response
};

/// Thrown if adapters have to be found in files first, which the threads of requests do not read.
struct NeedsLoad {
  AdapterLoads loads;
};

/// Reads `model`, the name of the model or of an adapter, and `lora`, a list of adapters with their
/// scales: [{"name", "scale"}], or [{"id", "scale"}] with the index of GET /lora-adapters. With
/// `any_model`, an unknown name adds a warning, and the response has the main name.
///
/// Errors: ApiError{model_not_found}; ApiError naming the member; NeedsLoad.
ChosenModel read_model(Params& params, const Call& call);

/// Reads the members of `read_model` and checks only that the names exist. Errors: those of
/// `read_model`.
void check_model(Params& params, const Call& call);

/// Errors: ApiError{model_not_found} if neither the model nor an adapter has this name; NeedsLoad.
void check_name(const std::string& name, const Call& call);

/// Finds the adapters that `loads` lacks, and loads them unless they only have to exist. Slow.
///
/// Errors: ApiError{model_not_found}; ApiError if an adapter cannot be loaded, or if the response
/// is no longer wanted.
AdapterLoads load_missing(AdapterLoads loads, const Call& call);

}  // namespace ingot
