// Route: a method and a path with their endpoint, and the search for one.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "server/common/endpoint.h"

namespace ingot {

/// Whether a route needs a key.
enum class Access { kPublic, kKey };

/// How a route is answered.
enum class RouteKind {
  kState,    ///< shows or changes the server's state; never refused, logged only where it fails
  kWork,     ///< uses the engine; refused while the server is full or stops
  kText,     ///< tokenizes or renders without the engine; refused while the server stops
  kControl,  ///< an operator's command that waits for a step; never refused
};

/// A method of a path, and its endpoint.
struct Route {
  std::string_view method;
  std::string_view path;  ///< "{id}" at its end stands for one segment, "{name}" for any number
  Access access = Access::kKey;
  RouteKind kind = RouteKind::kWork;
  Handler handler = nullptr;
  ErrorForm errors = ErrorForm::kOpenAi;
};

/// The body of /livez, /readyz and /health while the server is well.
inline constexpr std::string_view kGoodState = R"({"status":"ok"})";

/// The result of a search for a route.
struct RouteMatch {
  const Route* route = nullptr;  ///< null: there is none
  std::string allowed{};         ///< methods of the path, "GET, POST"; empty: there is no such path
  ErrorForm errors = ErrorForm::kOpenAi;  ///< the path's form of errors
};

/// Finds a route. A path may end in "/" and leave out "/v1". HEAD finds the routes of GET.
RouteMatch find_route(std::span<const Route> routes, std::string_view method,
                      std::string_view path);

/// The part of a path that stands for "{id}" or "{name}", behind `before`, with percent signs
/// decoded.
std::string path_name(std::string_view path, std::string_view before);

}  // namespace ingot
