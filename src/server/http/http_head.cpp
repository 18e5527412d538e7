// HttpHeadReader: parses the request line and header fields, and checks their meaning.
#include "server/http/http_head.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"

namespace ingot {

namespace {

constexpr std::size_t kMethodMax = 32;

bool is_token_char(char c) {
  if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return true;
  return std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Whether a request target has only visible ASCII; clients never send "#".
bool is_target(std::string_view text) {
  return !text.empty() && text.front() == '/' && std::all_of(text.begin(), text.end(), [](char c) {
    return c > ' ' && c < '\x7f' && c != '#';
  });
}

/// Whether a field value has only visible ASCII, spaces and tabs.
bool is_field_value(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c == '\t' || (c >= ' ' && c < '\x7f'); });
}

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

HttpRefusal bad(std::string message) { return {400, std::move(message)}; }

/// Removes and returns the text before `end`, or all text if `end` is absent.
std::string_view take_until(std::string_view& text, std::string_view end) {
  const std::size_t at = text.find(end);
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + end.size());
  return part;
}

std::optional<HttpRefusal> read_version(std::string_view version, HttpHead& head) {
  if (version == "HTTP/1.1") return std::nullopt;
  if (version == "HTTP/1.0") {
    head.is_http_1_0 = true;
    head.keep_alive = false;
    return std::nullopt;
  }
  const bool is_other = version.size() == 8 && version.starts_with("HTTP/") &&
                        is_digit(version[5]) && version[6] == '.' && is_digit(version[7]);
  if (is_other) return HttpRefusal{505, "the server speaks HTTP/1.1"};
  return bad("the request line is malformed");
}

std::optional<HttpRefusal> read_line(std::string_view line, HttpHead& head) {
  const std::string_view method = take_until(line, " ");
  const std::string_view target = take_until(line, " ");
  if (!is_http_token(method)) return bad("the request line is malformed");
  // HTTP/2 without negotiation begins like this.
  if (method == "PRI" && target == "*") return HttpRefusal{505, "the server speaks HTTP/1.1"};
  if (auto refusal = read_version(line, head)) return refusal;
  if (!is_target(target)) return bad("the request's target is malformed");
  head.request.method = method;
  const std::size_t query = target.find('?');
  head.request.path = target.substr(0, query);
  if (query != std::string_view::npos) head.request.query = target.substr(query + 1);
  return std::nullopt;
}

std::optional<HttpRefusal> read_field(std::string_view line, HttpFields& fields) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return bad("a header field has no colon");
  const std::string_view name = line.substr(0, colon);
  if (!is_http_token(name)) return bad("a header field's name is malformed");
  const std::string_view value = line.substr(colon + 1);
  if (!is_field_value(value)) return bad("a header field's value is malformed");
  std::string key = lower_ascii(name);
  // Some readers take a tab as part of a coding's name, others do not.
  if (key == "transfer-encoding" && value.find('\t') != std::string_view::npos) {
    return bad("Transfer-Encoding is malformed");
  }
  fields.emplace_back(std::move(key), std::string(trimmed(value)));
  return std::nullopt;
}

/// If one of these fields comes twice, two readers could each use another one.
std::optional<HttpRefusal> refuse_repeated(const HttpFields& fields) {
  for (const std::string_view name : {"content-length", "transfer-encoding", "host"}) {
    const auto is_one = [name](const auto& field) { return field.first == name; };
    if (std::count_if(fields.begin(), fields.end(), is_one) > 1) {
      return bad(cat("the header field ", name, " came twice"));
    }
  }
  return std::nullopt;
}

std::optional<HttpRefusal> read_length(const std::string& text, std::uint64_t& length) {
  const bool is_number =
      !text.empty() && text.size() <= 19 && std::all_of(text.begin(), text.end(), is_digit);
  if (!is_number) return bad("Content-Length is malformed");
  std::from_chars(text.data(), text.data() + text.size(), length);
  return std::nullopt;
}

std::optional<HttpRefusal> read_body_fields(HttpHead& head) {
  const std::string* length_text = head.request.field("content-length");
  const std::string* coding_text = head.request.field("transfer-encoding");
  if (length_text != nullptr && coding_text != nullptr) {
    return bad("Content-Length and Transfer-Encoding exclude each other");
  }
  if (coding_text != nullptr) {
    if (head.is_http_1_0) return bad("HTTP/1.0 has no Transfer-Encoding");
    if (lower_ascii(*coding_text) != "chunked") {
      return HttpRefusal{501, "Transfer-Encoding can only be chunked"};
    }
    head.is_chunked = true;
  }
  if (length_text != nullptr) {
    if (auto refusal = read_length(*length_text, head.length)) return refusal;
  }
  const bool has_body = head.is_chunked || head.length > 0;
  if (has_body && head.request.field("upgrade") != nullptr) {
    return bad("Upgrade with a body is not possible");
  }
  if (head.request.method == "POST" && !has_body && length_text == nullptr) {
    return HttpRefusal{411, "Content-Length is missing"};
  }
  return std::nullopt;
}

/// HTTP/1.0 connections always close: such clients know no chunks, and few keep connections.
void read_connection(HttpHead& head) {
  for (const auto& [name, value] : head.request.fields) {
    if (name != "connection") continue;
    const std::string options = lower_ascii(value);
    std::string_view rest = options;
    while (!rest.empty()) {
      if (trimmed(take_until(rest, ",")) == "close") head.keep_alive = false;
    }
  }
}

std::optional<HttpRefusal> read_other_fields(HttpHead& head) {
  if (head.request.field("host") == nullptr && !head.is_http_1_0) {
    return bad("the header field Host is missing");
  }
  if (const std::string* expect = head.request.field("expect")) {
    if (lower_ascii(*expect) != "100-continue") {
      return HttpRefusal{417, "Expect can only be 100-continue"};
    }
    head.wants_continue = !head.is_http_1_0;
  }
  if (const std::string* coding = head.request.field("content-encoding")) {
    if (lower_ascii(*coding) != "identity") {
      return HttpRefusal{415, "Content-Encoding is not supported: send the body as it is"};
    }
  }
  read_connection(head);
  return std::nullopt;
}

/// `text` is a whole head with its empty line.
std::variant<HttpHead, HttpRefusal> parse(std::string_view text, const HttpLimits& limits) {
  HttpHead head;
  head.bytes = text.size();
  if (const auto refusal = read_line(take_until(text, "\r\n"), head)) return *refusal;
  while (text != "\r\n") {
    if (head.request.fields.size() == limits.fields_max) {
      return HttpRefusal{431, cat("there may be ", limits.fields_max, " header fields")};
    }
    if (const auto refusal = read_field(take_until(text, "\r\n"), head.request.fields)) {
      return *refusal;
    }
  }
  if (const auto refusal = refuse_repeated(head.request.fields)) return *refusal;
  if (const auto refusal = read_body_fields(head)) return *refusal;
  if (const auto refusal = read_other_fields(head)) return *refusal;
  return head;
}

}  // namespace

std::optional<HttpRequest> read_request_line(std::string_view bytes) {
  const std::size_t end = bytes.find("\r\n");
  HttpHead head;
  const bool is_line = end != bytes.npos && !read_line(bytes.substr(0, end), head);
  return is_line ? std::optional(std::move(head.request)) : std::nullopt;
}

bool is_http_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char);
}

/// Checks the byte at `scanned_` while the request line has not ended.
std::optional<HttpRefusal> HttpHeadReader::look_at_line(char c) {
  if (scanned_ == 0 && c == '\x16') return HttpRefusal{0, {}};  // TLS
  if (scanned_ == limits_.line_bytes_max) {
    return HttpRefusal{414, cat("the request line may have ", limits_.line_bytes_max, " bytes")};
  }
  if (has_method_ || c == '\r' || c == '\n') return std::nullopt;
  has_method_ = c == ' ' && scanned_ > 0;
  if (has_method_ || (is_token_char(c) && scanned_ < kMethodMax)) return std::nullopt;
  return bad("the request line is malformed");
}

/// Scans each new byte once, in order, so that refusals do not depend on how the bytes arrived.
std::optional<HttpRefusal> HttpHeadReader::scan(std::string_view bytes) {
  for (; scanned_ < bytes.size() && end_ == 0; ++scanned_) {
    const char c = bytes[scanned_];
    if (line_ == 0) {
      if (auto refusal = look_at_line(c)) return refusal;
    }
    if (scanned_ == limits_.head_bytes_max) {
      return HttpRefusal{431, cat("the head may have ", limits_.head_bytes_max, " bytes")};
    }
    if (scanned_ > 0 && bytes[scanned_ - 1] == '\r' && c != '\n') {
      return bad("a line ends in CR alone");
    }
    if (c != '\n') continue;
    if (scanned_ == 0 || bytes[scanned_ - 1] != '\r') return bad("a line ends in LF alone");
    const std::size_t line_bytes = scanned_ + 1 - line_begin_;
    if (line_ == 0) {
      line_ = line_bytes;
      HttpHead head;
      if (auto refusal = read_line(bytes.substr(0, line_ - 2), head)) return refusal;
    } else if (line_bytes == 2) {
      end_ = scanned_ + 1;
    }
    line_begin_ = scanned_ + 1;
  }
  return std::nullopt;
}

std::optional<std::variant<HttpHead, HttpRefusal>> HttpHeadReader::read(std::string_view bytes) {
  if (auto refusal = scan(bytes)) return std::move(*refusal);
  if (end_ == 0) return std::nullopt;
  auto head = parse(bytes.substr(0, end_), limits_);
  *this = HttpHeadReader(limits_);
  return head;
}

}  // namespace ingot
