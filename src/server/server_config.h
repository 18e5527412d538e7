// ServerConfig: everything that the operator of a server chooses, with its defaults.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/common/request_gate.h"
#include "server/common/service.h"
#include "server/http/connection_times.h"
#include "server/http/server.h"

namespace ingot {

/// The options of a server, grouped by the part of the server that uses them.
struct ServerConfig {
  ServerOptions listen{.port = 8080};
  ConnectionTimes times{};
  AccessOptions access{};
  ServiceLimits requests{};

  /// Names of the model in requests, the main one first; empty: the model's file name.
  std::vector<std::string> model_names{};
  bool any_model = false;  ///< accept every model name in requests
  TemplateChoice chat_template{};

  std::string lora_dir{};      ///< folder of adapters that requests load by name; empty: none
  std::int32_t max_loras = 8;  ///< limit on adapters with a name

  std::int32_t sequences = 0;    ///< limit on running requests; 0: derived from `kv_tokens`
  std::int32_t step_rows = 512;  ///< token budget of a step
  std::int64_t kv_tokens = 0;    ///< wanted size of the KV pool in tokens; 0: the default
  double target_itl_ms = 0;      ///< target ms between tokens while prompts run; 0: automatic
  bool prefix_cache = true;
  bool exit_on_stall = false;  ///< end the process if a step takes over kStepSecondsMax seconds

  bool sandbox = false;
  bool log_requests = false;
  bool log_content = false;
};

}  // namespace ingot
