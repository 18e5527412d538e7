// Reads the API keys and the access options of `ingot serve`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

#include "server/common/api_keys.h"
#include "server/server_config.h"

namespace ingot {

/// The server's API keys, and options about them. Keys are numbered from 1.
struct KeyRing {
  ApiKeys keys;
  std::set<std::size_t> operators;          ///< numbers of the keys that see all metrics
  std::map<std::uint64_t, double> weights;  ///< weights by key number; 1 if absent
};

/// Reads the keys of --api-key-file and INGOT_API_KEY, and the options that name keys.
///
/// Errors: Error{kInvalid} for a wrong file or option. If there are no keys, also for an address
/// that other machines can reach, and for --cors-origin *.
KeyRing read_keys(const ServerConfig& config);

/// The access rules of the API: keys, routes, and options whose host names are in lower case.
GateOptions gate_options(const ServerConfig& config, ApiKeys keys);

}  // namespace ingot
