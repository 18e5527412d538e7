// HttpResponseReader: parses responses with Beast. No other file of bench/ includes Beast.
#include "bench/client/http_response.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace ingot {

namespace http = boost::beast::http;

namespace {

constexpr std::uint32_t kHeadBytesMax = 64 << 10;
/// Largest body in bytes: a streamed response of a million tokens fits.
constexpr std::uint64_t kBodyBytesMax = std::uint64_t{256} << 20;

}  // namespace

struct HttpResponseReader::Parser {
  http::response_parser<http::string_body> parser;
};

HttpResponseReader::HttpResponseReader() : parser_(std::make_unique<Parser>()) {
  parser_->parser.header_limit(kHeadBytesMax);
  parser_->parser.body_limit(kBodyBytesMax);
  parser_->parser.eager(true);
}

HttpResponseReader::~HttpResponseReader() = default;

std::size_t HttpResponseReader::read(std::string_view bytes) {
  std::size_t taken = 0;
  while (taken < bytes.size() && !is_done() && problem_.empty()) {
    boost::system::error_code error;
    const std::string_view rest = bytes.substr(taken);
    const boost::asio::const_buffer buffer(rest.data(), rest.size());
    const std::size_t count = parser_->parser.put(buffer, error);
    taken += count;
    if (error == http::error::need_more) break;
    if (error) problem_ = cat("no HTTP response: ", printable(error.message()));
    if (count == 0) break;
  }
  return taken;
}

void HttpResponseReader::end_of_connection() {
  if (is_done() || !problem_.empty()) return;
  boost::system::error_code error;
  if (parser_->parser.got_some()) parser_->parser.put_eof(error);
  if (error || !is_done()) {
    problem_ = parser_->parser.got_some() ? "the connection ended within the response"
                                          : "the connection ended without a response";
  }
}

std::string HttpResponseReader::take_body() {
  return std::exchange(parser_->parser.get().body(), std::string());
}

bool HttpResponseReader::has_head() const { return parser_->parser.is_header_done(); }
bool HttpResponseReader::is_done() const { return parser_->parser.is_done(); }
int HttpResponseReader::status() const {
  return static_cast<int>(parser_->parser.get().result_int());
}
bool HttpResponseReader::is_event_stream() const {
  const auto type = parser_->parser.get()[http::field::content_type];
  return boost::beast::iequals(type.substr(0, std::string_view("text/event-stream").size()),
                               "text/event-stream");
}
bool HttpResponseReader::keeps_alive() const { return is_done() && parser_->parser.keep_alive(); }

}  // namespace ingot
