// HTTP GET by libcurl: bounded, interruptible, and careful about where the token goes.
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

/// How an exchange went as far as the network is concerned.
enum class Transport {
  kDone,         ///< a reply came, whole
  kUnreachable,  ///< no connection to the server
  kBroken,       ///< the connection broke or stalled: trying again may help
  kRefused,      ///< trying again would not help: too many redirects, a bad certificate, ...
};

/// What came of a request, but for the body.
struct HttpReply {
  Transport transport = Transport::kDone;
  std::string problem;      ///< in words, unless kDone
  int status = 0;           ///< of the last reply, 0 when none came
  std::string error_code;   ///< the hub's X-Error-Code: "GatedRepo", "RepoNotFound", ...
  std::string retry_after;  ///< the header of that name
  /// The part that was asked for cannot be had; nothing went to the sink.
  bool is_range_refused = false;

  bool is_success() const { return status >= 200 && status < 300; }
};

/// What is asked for.
struct FetchRequest {
  std::string url;
  std::uint64_t offset = 0;  ///< the first byte wanted
  /// Seconds for all of it, 0: as long as bytes come.
  int seconds_max = 0;
};

/// Takes the body of a successful reply.
class HttpSink {
 public:
  virtual ~HttpSink() = default;
  /// Before the body: its first byte is number `offset` of the whole. May throw.
  virtual void begin(std::uint64_t offset) = 0;
  /// The next bytes. May throw.
  virtual void write(std::span<const std::byte> bytes) = 0;
};

/// Settings of all requests of a client.
struct HttpOptions {
  std::string token;  ///< sent as a bearer's, to the origin of each request and to no other
  std::string user_agent;
  int timeout_seconds = 10;  ///< to connect, and for a transfer that stands still
};

/// Makes requests one after the other, over connections that stay open.
///
/// Redirects are followed (at most ten, never from https to another protocol); after one to another
/// host, port or protocol the token is not sent. Bodies of other replies than 2xx are not read.
/// Content is never decoded.
class FetchClient {
 public:
  explicit FetchClient(HttpOptions options);
  ~FetchClient();
  FetchClient(const FetchClient&) = delete;
  FetchClient& operator=(const FetchClient&) = delete;

  /// Makes a GET. `tick` is called ten times a second or more, and may throw to end it.
  ///
  /// Errors: what `sink` and `tick` throw; all else is in the reply.
  HttpReply get(const FetchRequest& request, HttpSink& sink, FunctionRef<void()> tick);

 private:
  struct Handles;

  HttpOptions options_;
  std::unique_ptr<Handles> handles_;
};

/// Where the body of a partial reply begins: the first number of a Content-Range header such as
/// "bytes 100-199/200".
std::optional<std::uint64_t> content_range_begin(std::string_view header);

/// `text` as a part of a URL's path: all but letters, digits and "-._~/" as %XX.
std::string url_escape(std::string_view text);

}  // namespace ingot
