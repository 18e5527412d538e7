// Reads API keys, and refuses to expose a server without keys.
#include "cli/serve/access.h"

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "base/ignore_case.h"
#include "base/text.h"
#include "cli/options/options.h"
#include "server/routes.h"

namespace ingot {

namespace {

/// Numbers of the keys with the ID that an option names.
std::vector<std::size_t> numbers_of(const ApiKeys& keys, std::string_view option,
                                    std::string_view id) {
  std::vector<std::size_t> numbers;
  for (std::size_t number = 1; number <= keys.size(); ++number) {
    if (keys.id(number) == id) numbers.push_back(number);
  }
  if (numbers.empty()) {
    throw Error(ErrorCode::kInvalid, cat(option, " ", id, ": no API key has this ID"));
  }
  return numbers;
}

/// Parses "ID=WEIGHT" and sets the weight of the keys with this ID.
void add_weight(KeyRing& ring, std::string_view text) {
  constexpr std::string_view kOption = "--key-weight";
  constexpr double kWeightMin = 0.01, kWeightMax = 100;
  const std::size_t equals = text.rfind('=');
  if (equals == text.npos) throw bad_option(kOption, text, "expected ID=WEIGHT");
  const double weight = parse_real(text.substr(equals + 1), kOption, kWeightMin, kWeightMax);
  for (const std::size_t number : numbers_of(ring.keys, kOption, text.substr(0, equals))) {
    ring.weights[number] = weight;
  }
}

void check_exposure(const ServerConfig& config) {
  const std::string& host = config.listen.host;
  if (!config.access.no_auth && !is_loopback(host)) {
    throw Error(ErrorCode::kInvalid,
                cat("--host ", host,
                    " is open to others and there is no API key: give --api-key-file "
                    "or INGOT_API_KEY, or say --i-accept-no-auth"));
  }
  const auto& origins = config.access.cors_origins;
  if (std::find(origins.begin(), origins.end(), "*") != origins.end()) {
    throw Error(ErrorCode::kInvalid, "--cors-origin * needs API keys");
  }
}

}  // namespace

KeyRing read_keys(const ServerConfig& config) {
  const AccessOptions& access = config.access;
  KeyRing ring;
  if (access.api_key_file) ring.keys = read_api_keys(*access.api_key_file);
  if (const char* key = std::getenv("INGOT_API_KEY")) ring.keys.add(key, "INGOT_API_KEY");
  if (ring.keys.is_empty()) check_exposure(config);
  for (const std::string& id : access.operator_keys) {
    const auto numbers = numbers_of(ring.keys, "--operator-key", id);
    ring.operators.insert(numbers.begin(), numbers.end());
  }
  for (const std::string& text : access.key_weights) add_weight(ring, text);
  return ring;
}

GateOptions gate_options(const ServerConfig& config, ApiKeys keys) {
  GateOptions options{.access = config.access, .keys = std::move(keys), .routes = routes()};
  const std::string& host = config.listen.host;
  std::vector<std::string>& allowed = options.access.allowed_hosts;
  allowed.push_back(host.find(':') == host.npos ? host : cat("[", host, "]"));
  for (std::string& name : allowed) {
    std::transform(name.begin(), name.end(), name.begin(), [](char c) { return lower_ascii(c); });
  }
  return options;
}

}  // namespace ingot
