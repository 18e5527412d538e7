// Route: an HTTP method and path with their endpoint, and the search for a route.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "runtime/embed/model_use.h"
#include "server/common/endpoint.h"

namespace ingot {

/// Whether a route needs an API key. For keys that are no operator's, the path of a kOperator route
/// does not exist.
enum class Access { kPublic, kKey, kOperator };

/// What a route does, and when its requests are refused.
enum class RouteKind {
  kState,    ///< shows or changes the server's state; never refused, logged only if it fails
  kWork,     ///< uses the engine; refused while the server is full or stops
  kText,     ///< tokenizes or renders without the engine; refused while the server stops
  kLoad,     ///< loads or unloads adapters, one request at a time; refused while the server stops
  kControl,  ///< an operator's command that waits for an engine step; never refused
};

/// An HTTP method and path, and their endpoint.
struct Route {
  std::string_view method;
  std::string_view path;  ///< a final "{id}" is one path segment; "{name}" is one or more segments
  Access access = Access::kKey;
  RouteKind kind = RouteKind::kWork;
  Handler handler = nullptr;
  /// What the model must be able to do; empty: anything.
  std::optional<ModelUse> use{};
  /// Form of errors; empty: the form of the client's API, since the route serves several APIs.
  std::optional<ErrorForm> errors = ErrorForm::kOpenAi;
};

/// The response body of /livez, /readyz and /health if all is well.
inline constexpr std::string_view kGoodState = R"({"status":"ok"})";

/// The result of a search for a route.
struct RouteMatch {
  const Route* route = nullptr;   ///< null: no route matches
  std::string allowed{};          ///< if no route matches: the path's methods, such as "GET, POST"
  bool is_for_operators = false;  ///< whether the path has a route, and only for operators
  std::optional<ErrorForm> errors{};  ///< form of errors about this path; empty: the client's form
};

/// Whether a client of Anthropic's API sent the request, as a header field says.
bool is_of_anthropic(const HttpRequest& request);
/// Returns the form of errors about a request.
ErrorForm error_form(const RouteMatch& match, const HttpRequest& request);

/// Finds a route. Paths below a route have its form of errors. A path may end in "/" and leave out
/// "/v1". HEAD finds the routes of GET.
RouteMatch find_route(std::span<const Route> routes, std::string_view method,
                      std::string_view path);

/// Returns the value of "{id}" or "{name}": the rest of `path` after `before`. Decodes
/// percent-encoded characters.
std::string path_name(std::string_view path, std::string_view before);

}  // namespace ingot
