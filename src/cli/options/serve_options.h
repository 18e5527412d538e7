// The options of `ingot serve`.
#pragma once

#include <vector>

#include "cli/options/model_options.h"
#include "cli/options/option_row.h"
#include "server/server_config.h"

namespace ingot {

/// Limit on a request's context, in tokens, if --ctx is absent. A larger context needs more memory.
inline constexpr std::int64_t kServedContext = 32768;
/// Default size of the KV pool in tokens (--kv-tokens). A longer context replaces this default.
inline constexpr std::int64_t kKvTokensDefault = 65536;

/// Default limit on running requests: one for each kTokensPerSequence tokens of the KV pool, but at
/// least kSequencesMin and at most kSequencesMax. --sequences replaces this default.
inline constexpr std::int64_t kTokensPerSequence = 1024;
inline constexpr std::int64_t kSequencesMin = 64;
inline constexpr std::int64_t kSequencesMax = 256;

/// Values of all flags of `ingot serve`.
struct ServerValues {
  ModelOptionValues model;
  ServerConfig server;
  DraftChoice draft;  ///< read from `model.draft` before the model opens
};

/// Makes the table of the server's own options. Its rows set the members of `config`.
std::vector<OptionRow> server_option_rows(ServerConfig& config);

/// Declares MODEL and all options of `ingot serve` on `app`.
void add_server_options(CLI::App& app, ServerValues& values);

}  // namespace ingot
