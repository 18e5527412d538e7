// The options of `ingot serve`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/model_options.h"

namespace ingot {

/// The largest context of a request where --ctx does not say: larger ones cost memory.
inline constexpr std::int64_t kServedContext = 32768;
/// Tokens of keys and values that are kept for all requests where --kv-tokens does not say.
inline constexpr std::int64_t kKvTokensDefault = 65536;

/// Requests that run at once where --sequences does not say: one for so many tokens of keys and
/// values, from the least on and up to the most.
inline constexpr std::int64_t kTokensOfSequence = 1024;
inline constexpr std::int64_t kSequencesLeast = 64;
inline constexpr std::int64_t kSequencesMost = 256;

/// Values of the flags.
struct ServerValues {
  ModelOptionValues model;
  std::string host = "localhost";
  std::int32_t port = 8080;
  std::optional<std::string> unix_socket;
  std::optional<std::string> admin_socket;
  std::optional<std::string> tls_cert;
  std::optional<std::string> tls_key;
  std::optional<std::string> api_key_file;
  bool no_auth = false;
  std::vector<std::string> allowed_hosts;
  std::vector<std::string> cors_origins;
  std::optional<std::string> model_name;
  std::optional<std::string> chat_template;
  std::vector<std::string> operator_keys;
  std::vector<std::string> key_weights;  ///< "ID=WEIGHT"
  std::int32_t sequences = 0;            ///< 0 = by the keys and values that are kept
  std::int32_t step_rows = 512;
  std::int64_t kv_tokens = 0;  ///< 0 = kKvTokensDefault, or what fits
  std::int32_t queue = 512;
  double target_itl_ms = 0;
  double max_ttft_ms = 0;  ///< 0 = no limit
  bool by_priority = false;
  bool no_prefix_cache = false;
  double drain_timeout = 30;
  double write_stall = 30;
  double idle_timeout = 60;
  double queue_timeout = 120;
  double request_timeout = 3600;
  std::optional<std::int32_t> stream_interval_ms;  ///< absent: by StreamPace
  std::int32_t connections = 1024;
  std::int32_t body_mib = 8;
  std::int32_t default_max_tokens = 4096;
  bool log_requests = false;
  bool log_content = false;
  bool sandbox = false;
  bool exit_on_stall = false;
};

/// Declares the options and MODEL on the command.
void add_server_options(CLI::App& app, ServerValues& values);

}  // namespace ingot
