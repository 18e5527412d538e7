// FetchClient: HTTP GET by libcurl, bounded and interruptible; sends the token to its origin alone.
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

/// The result of an exchange on the network.
enum class Transport {
  kDone,         ///< a complete reply came
  kUnreachable,  ///< no connection to the server
  kBroken,       ///< the connection broke or stalled; a retry may help
  kRefused,      ///< a retry would not help: too many redirects, a bad certificate, ...
};

/// The result of a request, without the body.
struct HttpReply {
  Transport transport = Transport::kDone;
  std::string problem;      ///< in words, unless kDone
  int status = 0;           ///< the last reply's HTTP status; 0 without a reply
  std::string error_code;   ///< the hub's X-Error-Code: "GatedRepo", "RepoNotFound", ...
  std::string retry_after;  ///< the Retry-After header
  /// The server cannot send the requested range; the sink got no bytes.
  bool is_range_refused = false;

  bool is_success() const { return status >= 200 && status < 300; }
};

/// A GET request.
struct FetchRequest {
  std::string url;
  std::uint64_t offset = 0;  ///< the first byte wanted
  /// Seconds for the whole transfer; 0: no limit while bytes arrive.
  int seconds_max = 0;
};

/// Takes the body of a successful reply.
class HttpSink {
 public:
  virtual ~HttpSink() = default;
  /// Called before the body, whose first byte is byte `offset` of the file. May throw.
  virtual void begin(std::uint64_t offset) = 0;
  /// The next bytes. May throw.
  virtual void write(std::span<const std::byte> bytes) = 0;
};

/// Settings of all requests of a client.
struct HttpOptions {
  std::string token;  ///< bearer token, sent only to the origin of each request
  std::string user_agent;
  int timeout_seconds = 10;  ///< to connect, and without a new byte
};

/// Makes requests one after the other, over connections that stay open.
///
/// Follows at most ten redirects, never from https to another protocol. A redirect to another host,
/// port or protocol gets no token. Only the body of a 2xx reply is read. Content is never decoded.
class FetchClient {
 public:
  explicit FetchClient(HttpOptions options);
  ~FetchClient();
  FetchClient(const FetchClient&) = delete;
  FetchClient& operator=(const FetchClient&) = delete;

  /// Makes a GET. `tick` is called at least ten times a second, and may throw to end the request.
  ///
  /// Errors: those of `sink` and `tick`; all others are in the reply.
  HttpReply get(const FetchRequest& request, HttpSink& sink, FunctionRef<void()> tick);

 private:
  struct Handles;

  HttpOptions options_;
  std::unique_ptr<Handles> handles_;
};

/// The offset at which the body of a partial reply begins: 100 in the Content-Range header "bytes
/// 100-199/200".
std::optional<std::uint64_t> content_range_begin(std::string_view header);

/// `text` as a part of a URL's path: everything except letters, digits and "-._~/" becomes %XX.
std::string url_escape(std::string_view text);

}  // namespace ingot
