// HTTP: writes the heads of responses, and chunks.
#include "server/http/http.h"

#include <charconv>
#include <ctime>

#include "base/text.h"

namespace ingot {

std::string lower_ascii(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

const std::string* find_field(const HttpFields& fields, std::string_view name) {
  for (const auto& [key, value] : fields) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::string_view status_text(int status) {
  static constexpr std::pair<int, std::string_view> kTexts[] = {
      {200, "OK"},
      {204, "No Content"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {408, "Request Timeout"},
      {411, "Length Required"},
      {413, "Content Too Large"},
      {414, "URI Too Long"},
      {415, "Unsupported Media Type"},
      {417, "Expectation Failed"},
      {421, "Misdirected Request"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {499, "Client Closed Request"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {503, "Service Unavailable"},
      {505, "HTTP Version Not Supported"}};
  for (const auto& [code, text] : kTexts) {
    if (code == status) return text;
  }
  return "Unknown";
}

namespace {

/// A time in HTTP's form, "Mon, 23 Nov 2026 06:20:00 GMT", in any locale.
std::string http_date(std::time_t time) {
  constexpr std::string_view kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::string_view kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::tm utc{};
  gmtime_r(&time, &utc);
  const auto two = [](int n) { return cat(n < 10 ? "0" : "", n); };
  return cat(kDays[utc.tm_wday], ", ", two(utc.tm_mday), " ", kMonths[utc.tm_mon], " ",
             utc.tm_year + 1900, " ", two(utc.tm_hour), ":", two(utc.tm_min), ":", two(utc.tm_sec),
             " GMT");
}

/// The time now in HTTP's form, formatted once a second in each thread.
std::string_view http_date_now() {
  thread_local std::time_t second = 0;
  thread_local std::string text;
  const std::time_t now = std::time(nullptr);
  if (text.empty() || now != second) {
    text = http_date(now);
    second = now;
  }
  return text;
}

}  // namespace

std::string response_head(const HttpResponse& response, HttpFraming framing) {
  std::string head = cat("HTTP/1.1 ", response.status, " ", status_text(response.status), "\r\n");
  if (!response.type.empty()) head += cat("Content-Type: ", response.type, "\r\n");
  for (const auto& [name, value] : response.fields) head += cat(name, ": ", value, "\r\n");
  head += cat("Date: ", http_date_now(), "\r\n");
  head += "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n";
  switch (framing) {
    case HttpFraming::kLength:
    case HttpFraming::kClose:
      if (response.status != 204) head += cat("Content-Length: ", response.body.size(), "\r\n");
      break;
    case HttpFraming::kChunked:
      head += "Transfer-Encoding: chunked\r\n";
      break;
    case HttpFraming::kToClose:
      break;
  }
  if (framing == HttpFraming::kClose || framing == HttpFraming::kToClose) {
    head += "Connection: close\r\n";
  }
  head += "\r\n";
  return head;
}

std::string http_chunk(std::string_view bytes) {
  char size[16];
  const auto end = std::to_chars(size, size + sizeof size, bytes.size(), 16).ptr;
  std::string chunk(size, end);
  chunk += "\r\n";
  chunk += bytes;
  chunk += "\r\n";
  return chunk;
}

}  // namespace ingot
