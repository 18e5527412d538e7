// Reads the API keys and the access options of `ingot serve`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

#include "server/common/api_keys.h"
#include "server/server_config.h"

namespace ingot {

/// The server's API keys, and the options that name keys. Keys are numbered from 1.
struct KeyRing {
  ApiKeys keys;
  std::set<std::size_t> operators;          ///< numbers of the keys that see all metrics
  std::map<std::uint64_t, double> weights;  ///< weight in scheduling, by key number; absent: 1
};

/// Reads the keys of --api-key-file and INGOT_API_KEY, and the options that name keys.
///
/// Errors: Error{kInvalid} for a wrong file or option; without keys, also for --cors-origin *.
/// Without keys and without --i-accept-no-auth, also for an address that other machines can reach.
KeyRing read_keys(const ServerConfig& config);

/// Returns the API's access rules: the keys, the routes, and the allowed hosts in lower case.
GateOptions gate_options(const ServerConfig& config, ApiKeys keys);

}  // namespace ingot
