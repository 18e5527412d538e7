// The options of `ingot serve`.
#pragma once

#include <vector>

#include "cli/options/model_options.h"
#include "cli/options/option_row.h"
#include "server/server_config.h"

namespace ingot {

/// The largest context of a request where --ctx does not say: larger ones cost memory.
inline constexpr std::int64_t kServedContext = 32768;
/// Tokens of keys and values that are kept for all requests where --kv-tokens does not say.
inline constexpr std::int64_t kKvTokensDefault = 65536;

/// Requests that run at once where --sequences does not say: one for each 1,024 tokens of keys and
/// values, within these bounds.
inline constexpr std::int64_t kTokensPerSequence = 1024;
inline constexpr std::int64_t kSequencesMin = 64;
inline constexpr std::int64_t kSequencesMax = 256;

/// Values of the flags.
struct ServerValues {
  ModelOptionValues model;
  ServerConfig server;
};

/// The table of all options but those of the model, over the members of `config`.
std::vector<OptionRow> server_option_rows(ServerConfig& config);

/// Declares the options and MODEL on the command.
void add_server_options(CLI::App& app, ServerValues& values);

}  // namespace ingot
