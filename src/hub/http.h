// FetchClient: HTTP GET requests by libcurl, with limits on time and redirects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/function_ref.h"

namespace ingot {

/// How an HTTP request ended on the network.
enum class Transport {
  kDone,         ///< a complete reply arrived
  kUnreachable,  ///< no connection to the server
  kBroken,       ///< the connection broke or stalled; a retry may help
  kRefused,      ///< a retry cannot help: too many redirects, a bad certificate, ...
};

/// The reply to a request, without the reply's body.
struct HttpReply {
  Transport transport = Transport::kDone;
  std::string problem;      ///< what failed, for messages; empty if `transport` is kDone
  int status = 0;           ///< HTTP status of the last reply; 0: no reply arrived
  std::string error_code;   ///< the hub's X-Error-Code: "GatedRepo", "RepoNotFound", ...
  std::string retry_after;  ///< value of the Retry-After header; empty: none
  /// True if the server did not send the requested range; the sink then got no bytes.
  bool is_range_refused = false;

  bool is_success() const { return status >= 200 && status < 300; }
};

/// A GET request.
struct FetchRequest {
  std::string url;
  std::uint64_t offset = 0;  ///< index of the first byte to get
  /// Limit on the whole transfer in seconds; 0: no limit while bytes arrive.
  int seconds_max = 0;
};

/// Receives the body of a successful reply.
class HttpSink {
 public:
  virtual ~HttpSink() = default;
  /// Begins the body. `offset` is the index of the body's first byte in the file. May throw.
  virtual void begin(std::uint64_t offset) = 0;
  /// Receives the next bytes. May throw.
  virtual void write(std::span<const std::byte> bytes) = 0;
};

/// Settings for all requests of a FetchClient.
struct HttpOptions {
  std::string token;  ///< bearer token; sent only to the origin of a request's URL
  std::string user_agent;
  int timeout_seconds = 10;  ///< time limit for connecting, and for each wait for bytes
};

/// Makes one request at a time, and keeps connections open for later requests.
///
/// Follows at most ten redirects, never from https to another protocol. A redirect to another host,
/// port or protocol gets no token. Reads the body of 2xx replies only, and never decompresses it.
class FetchClient {
 public:
  explicit FetchClient(HttpOptions options);
  ~FetchClient();
  FetchClient(const FetchClient&) = delete;
  FetchClient& operator=(const FetchClient&) = delete;

  /// Makes a GET request. Calls `tick` at least ten times a second; `tick` may throw to cancel.
  ///
  /// Errors: those of `sink` and `tick`. All other failures are in the reply.
  HttpReply get(const FetchRequest& request, HttpSink& sink, FunctionRef<void()> tick);

 private:
  struct Handles;

  HttpOptions options_;
  std::unique_ptr<Handles> handles_;
};

/// Returns the first offset in a Content-Range header: 100 for "bytes 100-199/200".
/// Returns nothing for a malformed header.
std::optional<std::uint64_t> content_range_begin(std::string_view header);

/// Escapes `text` for the path of a URL: all bytes except letters, digits and "-._~/" become %XX.
std::string url_escape(std::string_view text);

}  // namespace ingot
