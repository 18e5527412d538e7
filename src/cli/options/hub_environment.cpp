// Reads the environment variables of the hub, as the hub's own client does.
#include "cli/options/hub_environment.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/options/options.h"
#include "hub/model_url.h"

namespace ingot {

namespace {

constexpr std::array<EnvironmentVariable, 8> kVariables{{
    {"HF_ENDPOINT", "address of the hub (default https://huggingface.co)"},
    {"HF_TOKEN", "token to read gated and private models with"},
    {"HF_TOKEN_PATH", "file that holds the token otherwise (default token in HF_HOME)"},
    {"HF_HOME", "folder of the hub's files (default ~/.cache/huggingface)"},
    {"HF_HUB_CACHE", "folder of the models (default hub in HF_HOME)"},
    {"HF_HUB_OFFLINE", "1: use the cache alone"},
    {"HF_HUB_DOWNLOAD_TIMEOUT", "seconds to wait for a connection and for more bytes (default 10)"},
    {"HF_HUB_DISABLE_IMPLICIT_TOKEN", "1: do not send the token"},
}};

constexpr std::uint64_t kTokenBytesMax = 4096;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

bool is_on(const char* name) {
  std::string value = variable(name);
  for (char& c : value) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return value == "1" || value == "ON" || value == "YES" || value == "TRUE";
}

/// The path with "~/" at its beginning replaced by the home folder.
std::string expanded(const std::string& path) {
  return path.starts_with("~/") ? variable("HOME") + path.substr(1) : path;
}

std::string home_folder() {
  if (const auto home = variable("HF_HOME"); !home.empty()) return expanded(home);
  if (const auto cache = variable("XDG_CACHE_HOME"); !cache.empty()) {
    return expanded(cache) + "/huggingface";
  }
  const std::string home = variable("HOME");
  return home.empty() ? std::string() : home + "/.cache/huggingface";
}

std::string stripped(std::string text) {
  constexpr std::string_view kSpace = " \t\r\n";
  text.erase(text.find_last_not_of(kSpace) + 1);
  return text.erase(0, std::min(text.find_first_not_of(kSpace), text.size()));
}

/// The token that the hub's own client stored in a file; none if there is no such file.
std::string stored_token() {
  std::string path = expanded(variable("HF_TOKEN_PATH"));
  if (path.empty() && !home_folder().empty()) path = home_folder() + "/token";
  if (path.empty()) return {};
  try {
    return File(path).read_all(kTokenBytesMax);
  } catch (const Error&) {
    return {};
  }
}

std::string read_token() {
  if (is_on("HF_HUB_DISABLE_IMPLICIT_TOKEN")) return {};
  std::string token = stripped(variable("HF_TOKEN"));
  if (token.empty()) token = stripped(variable("HUGGING_FACE_HUB_TOKEN"));
  if (token.empty()) token = stripped(stored_token());
  // Other characters would become part of the HTTP request.
  const bool is_plain =
      std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (!is_plain || token.size() > kTokenBytesMax) {
    throw Error(ErrorCode::kInvalid,
                "HF_TOKEN is not possible: it holds more than plain letters, "
                "digits and signs");
  }
  return token;
}

/// The endpoint as the environment has it, without slashes at its end.
std::string given_endpoint() {
  std::string endpoint = variable("HF_ENDPOINT");
  if (endpoint.empty()) return HubOptions{}.endpoint;
  while (endpoint.ends_with('/')) endpoint.pop_back();
  return endpoint;
}

bool is_endpoint(const std::string& text) {
  return (text.starts_with("http://") || text.starts_with("https://")) &&
         printable(text, text.size()) == text;
}

std::string read_endpoint() {
  std::string endpoint = given_endpoint();
  if (is_endpoint(endpoint)) return endpoint;
  throw bad_option("HF_ENDPOINT", endpoint, "expected an address that begins with https://");
}

}  // namespace

std::span<const EnvironmentVariable> hub_environment() { return kVariables; }

std::string hub_environment_text() {
  std::string text = "Environment:";
  for (const auto& [name, meaning] : kVariables) text += cat("\n  ", name, "  ", meaning);
  return text;
}

std::string hub_cache_folder() {
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}) {
    if (const auto cache = variable(name); !cache.empty()) return expanded(cache);
  }
  const std::string home = home_folder();
  return home.empty() ? home : home + "/hub";
}

std::optional<ModelName> hub_model_name(const std::string& text) {
  const std::string endpoint = given_endpoint();
  const bool is_address =
      text.find("://") != text.npos || (!endpoint.empty() && text.starts_with(endpoint + "/"));
  if (is_address || is_endpoint(endpoint)) return read_model_name(text, read_endpoint());
  return read_model_name(text, HubOptions{}.endpoint);
}

HubOptions hub_options() {
  HubOptions options{.cache = hub_cache_folder(),
                     .endpoint = read_endpoint(),
                     .token = read_token(),
                     .user_agent = "ingot/" INGOT_VERSION};
  if (options.cache.empty()) {
    throw Error(ErrorCode::kInvalid,
                "there is no home folder for models: HF_HUB_CACHE says where they go");
  }
  options.offline = is_on("HF_HUB_OFFLINE");
  constexpr int kTimeoutSecondsMax = 3600;
  if (const auto text = variable("HF_HUB_DOWNLOAD_TIMEOUT"); !text.empty()) {
    options.timeout_seconds = parse_whole(text, "HF_HUB_DOWNLOAD_TIMEOUT", 1, kTimeoutSecondsMax);
  }
  return options;
}

}  // namespace ingot
