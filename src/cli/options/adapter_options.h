// --lora and --adapter: which adapters a command loads, and which one its requests use.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/adapters/adapter_name.h"
#include "runtime/adapters/adapter_store.h"

namespace CLI {
class App;
}

namespace ingot {

/// Values of the options about adapters, as typed.
struct AdapterValues {
  std::vector<std::string> lora{};       ///< "[NAME=]PATH[:SCALE]"
  std::optional<std::string> adapter{};  ///< a name or "none"; absent: the first adapter
};

/// Declares --lora. `takes_choice`: also --adapter.
void add_adapter_options(CLI::App& app, AdapterValues& values, bool takes_choice = true);

/// The path of an adapter, and the factor of its own scale.
struct ScaledPath {
  std::string path;
  float scale = 1;
};

/// Parses "PATH[:SCALE]". Errors: Error{kInvalid} naming `option`.
ScaledPath parse_scaled_path(std::string_view text, std::string_view option);

/// Parses --lora: the adapters to load, with names of their own.
///
/// Errors: Error{kInvalid} naming the option and its text: for a name that is empty, too long, used
/// twice or "none", or has control characters, "/" or ","; for a factor that is not finite.
std::vector<AdapterSource> adapter_sources(const AdapterValues& values);

/// Returns the name of the adapter of requests that name none: --adapter, or else the first
/// adapter; kNoAdapter if there is none.
std::string default_adapter(const AdapterValues& values);
/// Returns the adapters of requests that name none: --adapter, or else the first adapter. Null:
/// none.
///
/// Errors: Error{kInvalid} if no adapter has the name.
std::shared_ptr<const AdapterList> default_adapters(const AdapterValues& values,
                                                    AdapterStore& adapters);

/// Returns the list of one adapter by its name, null for "none". Errors: Error{kInvalid}, whose
/// message begins with `place`.
std::shared_ptr<const AdapterList> adapters_named(std::string_view name, AdapterStore& adapters,
                                                  std::string_view place);

/// Checks that --lora loads an adapter of this name. Errors: those of `adapters_named`.
void check_is_loaded(const AdapterValues& values, std::string_view name, std::string_view place);

}  // namespace ingot
