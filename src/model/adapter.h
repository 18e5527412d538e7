// load_adapter: binds an adapter file to a model, and packs its matrices for a backend.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "load/adapter/adapter_file.h"
#include "model/adapter_targets.h"

namespace ingot {

/// A 128-bit hash (XXH3) of all that determines an adapter's effect on a given model. Adapters of
/// equal files have equal identities, whatever their names.
using AdapterIdentity = std::array<std::uint64_t, 2>;

/// An adapter, packed for a backend and for one model. Immutable.
struct Adapter {
  AdapterWeights weights;
  /// Tokens that begin the adapter's part of a prompt (aLoRA); empty: the adapter acts on all rows.
  std::vector<std::int32_t> invocation_tokens;
  AdapterIdentity identity{};
  std::int64_t bytes = 0;             ///< bytes of device memory
  std::vector<std::string> warnings;  ///< one line each
};

/// Packs an adapter for the model that has these targets.
///
/// Errors: model_error that names the tensor or the module, if the model has no such module or
/// another number of inputs, outputs, experts or tokens, if two pairs change the same rows, or if
/// the configuration names a module whose pair the file lacks; Error{kIo} if the file changed while
/// it was open; Error{kDoesNotFit}.
std::unique_ptr<const Adapter> load_adapter(const AdapterFile& file, const AdapterTargets& targets,
                                            Backend& backend);

/// Returns the bytes that `load_adapter` allocates. Reads no weights.
///
/// Errors: those of `load_adapter` except kIo and kDoesNotFit.
std::int64_t adapter_bytes(const AdapterFile& file, const AdapterTargets& targets,
                           const Backend& backend);

/// Returns the identity of an adapter that is not loaded.
AdapterIdentity adapter_identity(const AdapterFile& file);

/// Returns a warning if the file and the model both name a base model, and the names differ;
/// otherwise "". Compares the last parts of paths without regard to case. A name that continues the
/// other one, as "-Q4_K_M" does, does not differ.
std::string base_model_warning(const AdapterFile& file, std::string_view model_name);

}  // namespace ingot
