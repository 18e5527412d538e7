// HttpHeadReader: parses the request line and header fields, and checks their meaning.
#include "server/http/http_head.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "base/text.h"

namespace ingot {

namespace {

constexpr std::size_t kMethodMax = 32;
/// Maximum number of empty lines before a request line. Some clients send one behind a body.
constexpr int kEmptyLinesMax = 16;
/// Maximum digits of a port.
constexpr std::size_t kPortDigitsMax = 5;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_letter_or_digit(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_token_char(char c) {
  return is_letter_or_digit(c) ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

/// Whether a field value has no control characters but tabs. Bytes from 0x80 have no meaning here:
/// a value that is compared with a name or read as a number has to be ASCII.
bool is_field_value(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == '\t' || (byte >= ' ' && byte != 0x7f);
  });
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

/// Returns the elements of a list, "a, b, c", in lower case. All fields named `name` form one list.
std::vector<std::string> list_of(const HttpFields& fields, std::string_view name) {
  std::vector<std::string> list;
  for (const auto& [key, value] : fields) {
    if (key != name) continue;
    std::string_view rest = value;
    while (!rest.empty()) list.push_back(lower_ascii(trimmed(take_until(rest, ","))));
  }
  return list;
}

/// Whether `text` is a host with or without a port: "localhost", "127.0.0.1:80", "[::1]:80".
bool is_authority(std::string_view text) {
  const bool is_ipv6 = text.starts_with('[');
  const std::size_t colon = text.find(':', is_ipv6 ? text.find(']') : 0);
  std::string_view host = text.substr(0, colon);
  const std::string_view port =
      colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  if (is_ipv6) {
    if (!host.ends_with(']')) return false;
    host = host.substr(1, host.size() - 2);
  }
  const auto is_host_char = [is_ipv6](char c) {
    if (is_ipv6) return std::string_view("0123456789abcdefABCDEF:.").find(c) != std::string::npos;
    return is_letter_or_digit(c) || std::string_view("-._~").find(c) != std::string::npos;
  };
  return !host.empty() && std::all_of(host.begin(), host.end(), is_host_char) &&
         port.size() <= kPortDigitsMax && std::all_of(port.begin(), port.end(), is_digit);
}

/// Removes "http://" or "https://" in any letter case. Returns false if `target` has neither.
bool remove_scheme(std::string_view& target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (lower_ascii(target.substr(0, scheme.size())) != scheme) continue;
    target.remove_prefix(scheme.size());
    return true;
  }
  return false;
}

/// Reads a target "/path?query" or "http://host:port/path?query". Returns false for another one.
bool read_target(std::string_view target, HttpHead& head) {
  // Clients never send "#".
  const bool is_visible = std::all_of(target.begin(), target.end(),
                                      [](char c) { return c > ' ' && c < '\x7f' && c != '#'; });
  if (!is_visible) return false;
  if (remove_scheme(target)) {
    head.authority = target.substr(0, target.find_first_of("/?"));
    if (!is_authority(head.authority)) return false;
    target.remove_prefix(head.authority.size());
  } else if (!target.starts_with('/')) {
    return false;
  }
  const std::size_t query = target.find('?');
  const std::string_view path = target.substr(0, query);
  head.request.path = path.empty() ? std::string_view("/") : path;
  if (query != std::string_view::npos) head.request.query = target.substr(query + 1);
  return true;
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
  if (!read_target(target, head)) return bad("the request's target is malformed");
  head.request.method = method;
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
  if (head.request.method == "POST" && !head.is_chunked && length_text == nullptr) {
    return HttpRefusal{411, "Content-Length is missing"};
  }
  return std::nullopt;
}

/// HTTP/1.0 connections always close: such clients know no chunks, and few keep connections.
void read_connection(HttpHead& head) {
  for (const std::string& option : list_of(head.request.fields, "connection")) {
    if (option == "close") head.keep_alive = false;
  }
}

std::optional<HttpRefusal> read_content_encoding(HttpHead& head) {
  for (const std::string& coding : list_of(head.request.fields, "content-encoding")) {
    if (coding.empty() || coding == "identity") continue;
    const bool is_gzip = coding == "gzip" || coding == "x-gzip";
    if (!is_gzip || head.is_gzip) {
      return HttpRefusal{
          415, "Content-Encoding can only be gzip, once", {{"Accept-Encoding", "gzip"}}};
    }
    head.is_gzip = true;
  }
  return std::nullopt;
}

/// RFC 9112, section 3.2.2: the host in the target takes the place of Host.
void replace_host(HttpHead& head) {
  HttpFields& fields = head.request.fields;
  std::erase_if(fields, [](const auto& field) { return field.first == "host"; });
  fields.emplace_back("host", head.authority);
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
  if (auto refusal = read_content_encoding(head)) return refusal;
  if (!head.authority.empty()) replace_host(head);
  read_connection(head);
  return std::nullopt;
}

/// Reads all header fields. `text` ends with the head's empty line.
std::optional<HttpRefusal> read_head_fields(std::string_view text, const HttpLimits& limits,
                                            HttpHead& head) {
  while (text != "\r\n") {
    if (head.request.fields.size() == limits.fields_max) {
      return HttpRefusal{431, cat("there may be ", limits.fields_max, " header fields")};
    }
    if (auto refusal = read_field(take_until(text, "\r\n"), head.request.fields)) return refusal;
  }
  if (auto refusal = refuse_repeated(head.request.fields)) return refusal;
  if (auto refusal = read_body_fields(head)) return refusal;
  return read_other_fields(head);
}

}  // namespace

bool is_http_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char);
}

/// Checks the byte at `scanned_` while the request line has not ended.
std::optional<HttpRefusal> HttpHeadReader::look_at_line(char c) {
  if (scanned_ == 0 && c == '\x16') return HttpRefusal{0, {}};  // TLS
  const std::size_t at = scanned_ - line_begin_;
  if (at == limits_.line_bytes_max) {
    return HttpRefusal{414, cat("the request line may have ", limits_.line_bytes_max, " bytes")};
  }
  if (has_method_ || c == '\r' || c == '\n') return std::nullopt;
  has_begun_ = true;
  has_method_ = c == ' ' && at > 0;
  if (has_method_ || (is_token_char(c) && at < kMethodMax)) return std::nullopt;
  return bad("the request line is malformed");
}

/// Ends the line whose LF is at `scanned_`.
std::optional<HttpRefusal> HttpHeadReader::end_line(std::string_view bytes) {
  const std::size_t end = scanned_ + 1;
  const std::size_t begin = std::exchange(line_begin_, end);
  const bool is_empty = end - begin == 2;
  if (fields_ > 0) {
    if (is_empty) end_ = end;
    return std::nullopt;
  }
  if (is_empty) {
    if (++empty_lines_ <= kEmptyLinesMax) return std::nullopt;
    return bad(cat("more than ", kEmptyLinesMax, " empty lines came before the request line"));
  }
  fields_ = end;
  return read_line(bytes.substr(begin, end - begin - 2), head_);
}

/// Scans each new byte once, in order, so that refusals do not depend on how the bytes arrived.
std::optional<HttpRefusal> HttpHeadReader::scan(std::string_view bytes) {
  for (; scanned_ < bytes.size() && end_ == 0; ++scanned_) {
    const char c = bytes[scanned_];
    if (fields_ == 0) {
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
    if (auto refusal = end_line(bytes)) return refusal;
  }
  return std::nullopt;
}

std::optional<std::variant<HttpHead, HttpRefusal>> HttpHeadReader::read(std::string_view bytes) {
  if (auto refusal = scan(bytes)) return std::move(*refusal);
  if (end_ == 0) return std::nullopt;
  if (auto refusal = read_head_fields(bytes.substr(fields_, end_ - fields_), limits_, head_)) {
    return std::move(*refusal);
  }
  head_.bytes = end_;
  return std::exchange(*this, HttpHeadReader(limits_)).head_;
}

}  // namespace ingot
