// The API keys of `ingot serve`, and what options say about them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

#include "server/common/api_keys.h"
#include "server/server_config.h"

namespace ingot {

/// The keys that open the server. Keys are numbered from 1.
struct KeyRing {
  ApiKeys keys;
  std::set<std::size_t> operators;          ///< keys that see all counts
  std::map<std::uint64_t, double> weights;  ///< shares of keys, where not 1
};

/// Reads the keys of --api-key-file and INGOT_API_KEY, and which keys options name.
///
/// Errors: Error{kInvalid} for a file or an option that is wrong, for an address that others reach
/// without keys, and for pages of any origin without keys.
KeyRing read_keys(const ServerConfig& config);

/// What the API checks of a request: the options with host names in lower case, and the keys.
GateOptions gate_options(const ServerConfig& config, ApiKeys keys);

}  // namespace ingot
