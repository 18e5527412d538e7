// FetchClient: HTTP GET with libcurl. No other file includes libcurl's headers.
#include "hub/http.h"

#include <curl/curl.h>

#include <charconv>
#include <exception>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace ingot {

namespace {

constexpr long kRedirectsMax = 10;
/// Most header bytes of all replies to a request, so that a server cannot fill the memory.
constexpr std::size_t kHeaderBytesMax = 256 * 1024;
constexpr int kPollMs = 100;

/// Initialises libcurl, and cleans it up at the end of the process.
struct Global {
  Global() { curl_global_init(CURL_GLOBAL_DEFAULT); }
  ~Global() { curl_global_cleanup(); }
};

struct EasyCleanup {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct MultiCleanup {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};

/// The header with this name in the last reply, or an empty text.
std::string header(CURL* easy, const char* name) {
  curl_header* found = nullptr;
  if (curl_easy_header(easy, name, 0, CURLH_HEADER, -1, &found) != CURLHE_OK) return {};
  return found->value;
}

int status_of(CURL* easy) {
  long status = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  return static_cast<int>(status);
}

/// State of a request for libcurl's callbacks. It holds exceptions, which must not pass through C.
struct Exchange {
  CURL* easy = nullptr;
  const FetchRequest* request = nullptr;
  HttpSink* sink = nullptr;
  bool has_begun = false;
  bool is_unread = false;     ///< the body was not wanted, so the transfer was ended
  bool is_misplaced = false;  ///< the body has another range than requested
  std::size_t header_bytes = 0;
  std::exception_ptr thrown;

  /// Whether to read the body. Called once, when its first bytes arrive.
  bool begin() {
    has_begun = true;
    const int status = status_of(easy);
    is_unread = status < 200 || status >= 300;
    if (is_unread) return false;
    std::uint64_t offset = 0;
    if (status == 206) {
      const auto begin = content_range_begin(header(easy, "Content-Range"));
      is_misplaced = begin != request->offset;
      if (is_misplaced) return false;
      offset = *begin;
    }
    sink->begin(offset);
    return true;
  }
};

std::size_t on_body(char* data, std::size_t, std::size_t bytes, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  try {
    if (!exchange.has_begun && !exchange.begin()) return 0;
    exchange.sink->write(std::as_bytes(std::span(data, bytes)));
    return bytes;
  } catch (...) {
    exchange.thrown = std::current_exception();
    return 0;
  }
}

std::size_t on_header(char*, std::size_t, std::size_t bytes, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  exchange.header_bytes += bytes;
  return exchange.header_bytes > kHeaderBytesMax ? 0 : bytes;
}

Transport transport_of(CURLcode code) {
  switch (code) {
    case CURLE_OK:
      return Transport::kDone;
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
      return Transport::kUnreachable;
    case CURLE_PARTIAL_FILE:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
      return Transport::kBroken;
    default:
      return Transport::kRefused;
  }
}

}  // namespace

struct FetchClient::Handles {
  std::unique_ptr<CURL, EasyCleanup> easy;
  std::unique_ptr<CURLM, MultiCleanup> multi;
  char details[CURL_ERROR_SIZE] = "";  ///< text of the last failure; libcurl keeps its address
};

FetchClient::FetchClient(HttpOptions options)
    : options_(std::move(options)), handles_(std::make_unique<Handles>()) {
  static const Global global;
  handles_->easy.reset(curl_easy_init());
  handles_->multi.reset(curl_multi_init());
  if (!handles_->easy || !handles_->multi) {
    throw Error(ErrorCode::kInternal, "libcurl cannot be started");
  }
}

FetchClient::~FetchClient() = default;

namespace {

void set_options(CURL* easy, const HttpOptions& options, const FetchRequest& request,
                 Exchange& exchange) {
  curl_easy_reset(easy);
  curl_easy_setopt(easy, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(easy, CURLOPT_USERAGENT, options.user_agent.c_str());
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR,
                   request.url.starts_with("https:") ? "https" : "http,https");
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(easy, CURLOPT_MAXREDIRS, kRedirectsMax);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, long{options.timeout_seconds});
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, long{options.timeout_seconds});
  curl_easy_setopt(easy, CURLOPT_TIMEOUT, long{request.seconds_max});
  if (!options.token.empty()) {
    // libcurl sends it only to the first origin: CURLOPT_UNRESTRICTED_AUTH is off.
    curl_easy_setopt(easy, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
    curl_easy_setopt(easy, CURLOPT_XOAUTH2_BEARER, options.token.c_str());
  }
  if (request.offset > 0) {
    curl_easy_setopt(easy, CURLOPT_RANGE, cat(request.offset, "-").c_str());
  }
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &exchange);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &exchange);
}

/// Attaches the easy handle to the multi handle while it lives.
class Attached {
 public:
  Attached(CURLM* multi, CURL* easy) : multi_(multi), easy_(easy) {
    curl_multi_add_handle(multi_, easy_);
  }
  ~Attached() { curl_multi_remove_handle(multi_, easy_); }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;

 private:
  CURLM* multi_;
  CURL* easy_;
};

CURLcode transfer(CURLM* multi, FunctionRef<void()> tick) {
  for (int running = 1; running > 0;) {
    if (curl_multi_perform(multi, &running) != CURLM_OK) return CURLE_FAILED_INIT;
    tick();
    if (running > 0) curl_multi_poll(multi, nullptr, 0, kPollMs, nullptr);
  }
  int left = 0;
  const CURLMsg* message = curl_multi_info_read(multi, &left);
  return message == nullptr ? CURLE_FAILED_INIT : message->data.result;
}

std::string problem_of(CURLcode code, const Exchange& exchange, const char* details) {
  if (exchange.is_misplaced) return "the server sent another range than requested";
  if (exchange.header_bytes > kHeaderBytesMax) return "the server sent too many headers";
  return printable(*details != '\0' ? details : curl_easy_strerror(code), 256);
}

}  // namespace

HttpReply FetchClient::get(const FetchRequest& request, HttpSink& sink, FunctionRef<void()> tick) {
  CURL* easy = handles_->easy.get();
  Exchange exchange{.easy = easy, .request = &request, .sink = &sink, .thrown = {}};
  set_options(easy, options_, request, exchange);
  handles_->details[0] = '\0';
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, handles_->details);
  CURLcode code = CURLE_OK;
  {
    const Attached attached(handles_->multi.get(), easy);
    code = transfer(handles_->multi.get(), tick);
  }
  if (exchange.thrown) std::rethrow_exception(exchange.thrown);
  HttpReply reply;
  reply.status = status_of(easy);
  reply.error_code = printable(header(easy, "X-Error-Code"), 64);
  reply.retry_after = header(easy, "Retry-After");
  reply.is_range_refused = exchange.is_misplaced || (reply.status == 416 && request.offset > 0);
  if (exchange.is_unread) return reply;
  reply.transport = transport_of(code);
  if (code != CURLE_OK) reply.problem = problem_of(code, exchange, handles_->details);
  // libcurl calls no callback for an empty body.
  if (code == CURLE_OK && !exchange.has_begun && reply.is_success()) sink.begin(0);
  return reply;
}

std::optional<std::uint64_t> content_range_begin(std::string_view header) {
  constexpr std::string_view kUnit = "bytes ";
  if (!header.starts_with(kUnit)) return std::nullopt;
  header.remove_prefix(kUnit.size());
  std::uint64_t begin = 0;
  const char* end = header.data() + header.size();
  const auto result = std::from_chars(header.data(), end, begin);
  if (result.ec != std::errc() || result.ptr == end || *result.ptr != '-') return std::nullopt;
  return begin;
}

std::string url_escape(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string url;
  for (const char c : text) {
    if (kPlain.find(c) != kPlain.npos) {
      url += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      url += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return url;
}

}  // namespace ingot
