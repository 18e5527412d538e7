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
  std::int32_t queue_per_key = 256;
  double target_itl_ms = 0;
  double max_ttft_ms = 0;  ///< 0 = no limit
  bool by_priority = false;
  bool no_prefix_cache = false;
  double drain_timeout = 30;
  double write_stall = 30;
  double header_timeout = 10;
  double body_timeout = 60;
  double idle_timeout = 60;
  double ping_interval = 10;
  double queue_timeout = 120;
  double request_timeout = 3600;
  std::optional<std::int32_t> stream_interval_ms;  ///< absent: by StreamPace
  std::int32_t connections = 1024;
  std::int32_t connections_per_address = 256;
  std::int32_t requests_per_connection = 1000;
  std::optional<std::int32_t> line_kib;  ///< absent: 8, or header_kib where that is less
  std::int32_t header_kib = 32;
  std::int32_t header_fields = 100;
  std::int32_t body_bytes_per_second = 1024;
  std::int32_t body_mib = 8;
  std::int32_t choices = 16;
  std::int32_t prompts = 16;
  std::int32_t default_max_tokens = 4096;
  std::int32_t auth_failures = 20;
  std::int32_t reserved_connections = 4;
  std::int32_t json_depth = 64;
  std::int32_t messages = 4096;
  std::int32_t stops = 16;
  std::int32_t stop_bytes = 256;
  std::int32_t stop_ids = 128;
  std::int32_t biases = 1024;
  std::int32_t logprobs = 20;
  std::int64_t template_steps = 2'000'000;
  std::int32_t io_threads = 0;      ///< 0 = by the number of CPUs
  bool log_requests = false;
  bool log_content = false;
  bool sandbox = false;
  bool exit_on_stall = false;
};

/// Declares the options and MODEL on the command.
void add_server_options(CLI::App& app, ServerValues& values);

}  // namespace ingot
