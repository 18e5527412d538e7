// Finds the route of a method and path, and decodes the variable part of a path.
#include "server/common/route.h"

#include <charconv>

namespace ingot {

namespace {

constexpr std::string_view kVersion = "/v1";
constexpr std::string_view kId = "{id}";
constexpr std::string_view kName = "{name}";

bool matches(std::string_view pattern, std::string_view path) {
  if (pattern.ends_with(kName)) {
    pattern.remove_suffix(kName.size());
    return path.starts_with(pattern) && path.size() > pattern.size();
  }
  if (!pattern.ends_with(kId)) return pattern == path;
  pattern.remove_suffix(kId.size());
  return path.starts_with(pattern) && path.size() > pattern.size() &&
         path.find('/', pattern.size()) == std::string_view::npos;
}

/// The route's path without "/v1".
std::string_view short_path(const Route& route) {
  const bool has_version = route.path.starts_with(kVersion);
  return route.path.substr(has_version ? kVersion.size() : 0);
}

/// Whether the path matches the route, with "/v1" or without it.
bool leads_to(const Route& route, std::string_view path) {
  return matches(route.path, path) || matches(short_path(route), path);
}

bool is_below(const Route& route, std::string_view path) {
  for (const std::string_view above : {route.path, short_path(route)}) {
    if (path.starts_with(above) && path.substr(above.size()).starts_with('/')) return true;
  }
  return false;
}

}  // namespace

bool is_of_anthropic(const HttpRequest& request) {
  return request.field("anthropic-version") != nullptr;
}

ErrorForm error_form(const RouteMatch& match, const HttpRequest& request) {
  if (match.errors) return *match.errors;
  return is_of_anthropic(request) ? ErrorForm::kAnthropic : ErrorForm::kOpenAi;
}

RouteMatch find_route(std::span<const Route> routes, std::string_view method,
                      std::string_view path) {
  // The path "//" stays as it is.
  if (path.size() > 2 && path.ends_with('/')) path.remove_suffix(1);
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  RouteMatch match;
  for (const Route& route : routes) {
    if (route.errors == ErrorForm::kAnthropic && is_below(route, path)) match.errors = route.errors;
    if (!leads_to(route, path)) continue;
    match.errors = route.errors;
    match.is_for_operators = route.access == Access::kOperator;
    if (route.method == wanted) {
      match.route = &route;
      match.allowed.clear();
      return match;
    }
    match.allowed += match.allowed.empty() ? "" : ", ";
    match.allowed += route.method;
  }
  return match;
}

namespace {

std::string without_percents(std::string_view coded) {
  std::string id;
  for (std::size_t i = 0; i < coded.size(); ++i) {
    unsigned value = 0;
    const bool is_coded =
        coded[i] == '%' && i + 3 <= coded.size() &&
        std::from_chars(coded.data() + i + 1, coded.data() + i + 3, value, 16).ptr ==
            coded.data() + i + 3;
    id += is_coded ? static_cast<char>(value) : coded[i];
    if (is_coded) i += 2;
  }
  return id;
}

}  // namespace

std::string path_name(std::string_view path, std::string_view before) {
  const std::size_t at = path.find(before);
  if (path.ends_with('/')) path.remove_suffix(1);
  return at == std::string_view::npos ? std::string()
                                      : without_percents(path.substr(at + before.size()));
}

}  // namespace ingot
