// URIs of JSON Schema: splits references into parts and joins them.
#include "constraint/schema/schema_uri.h"

#include <cstddef>

namespace ingot::schema {
namespace {

/// The parts of a URI as texts; `scheme` with its colon, `authority` with its slashes, `query` with
/// its question mark.
struct Parts {
  std::string_view scheme, authority, path, query;
};

bool is_scheme(std::string_view text) {
  if (text.empty()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool is_other = (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
    if (!is_letter && (i == 0 || !is_other)) return false;
  }
  return true;
}

Parts split(std::string_view uri) {
  Parts parts;
  const std::size_t colon = uri.find(':');
  if (colon != std::string_view::npos && is_scheme(uri.substr(0, colon))) {
    parts.scheme = uri.substr(0, colon + 1);
    uri.remove_prefix(colon + 1);
  }
  if (uri.substr(0, 2) == "//") {
    const std::size_t end = uri.find_first_of("/?", 2);
    parts.authority = uri.substr(0, end);
    uri.remove_prefix(parts.authority.size());
  }
  const std::size_t question = uri.find('?');
  parts.path = uri.substr(0, question);
  if (question != std::string_view::npos) parts.query = uri.substr(question);
  return parts;
}

std::string without_dots(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    const std::size_t end = path.find('/', 1);
    const std::string_view segment = path.substr(0, end);
    path.remove_prefix(segment.size());
    const std::string_view name = segment[0] == '/' ? segment.substr(1) : segment;
    if (name == "." || name == "..") {
      if (name == "..") out.erase(out.rfind('/') == std::string::npos ? 0 : out.rfind('/'));
      if (path.empty() && segment[0] == '/') out += '/';
    } else {
      out += segment;
    }
  }
  return out;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool has_two = text[i] == '%' && i + 2 < text.size();
    const int high = has_two ? hex_digit(text[i + 1]) : -1;
    const int low = has_two ? hex_digit(text[i + 2]) : -1;
    if (high >= 0 && low >= 0) {
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string join(const Parts& base, const Parts& to) {
  std::string out;
  const auto add = [&out](std::string_view part) { out += part; };
  if (!to.scheme.empty()) {
    add(to.scheme), add(to.authority), add(without_dots(to.path)), add(to.query);
    return out;
  }
  add(base.scheme);
  if (!to.authority.empty()) {
    add(to.authority), add(without_dots(to.path)), add(to.query);
    return out;
  }
  add(base.authority);
  if (to.path.empty()) {
    add(base.path), add(to.query.empty() ? base.query : to.query);
    return out;
  }
  if (to.path[0] == '/') {
    add(without_dots(to.path));
  } else {
    const std::size_t slash = base.path.rfind('/');
    std::string path(slash == std::string_view::npos ? std::string_view()
                                                     : base.path.substr(0, slash + 1));
    if (path.empty() && !base.authority.empty()) path = "/";
    path += to.path;
    add(without_dots(path));
  }
  add(to.query);
  return out;
}

}  // namespace

SplitUri resolve_uri(std::string_view base, std::string_view reference) {
  SplitUri result;
  const std::size_t hash = reference.find('#');
  if (hash != std::string_view::npos) {
    result.fragment = percent_decoded(reference.substr(hash + 1));
    reference = reference.substr(0, hash);
  }
  base = base.substr(0, base.find('#'));
  result.uri = reference.empty() ? std::string(base) : join(split(base), split(reference));
  return result;
}

}  // namespace ingot::schema
