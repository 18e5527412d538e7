// A route: a method and a path with the endpoint behind them; finding one.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "server/http/handler.h"

namespace ingot {

/// Who may use a route.
enum class Access { kPublic, kKey };

/// How a route is answered.
enum class RouteKind {
  kQuick,    ///< at once: state of the server
  kWork,     ///< computes: refused while the server is full or being stopped
  kText,     ///< takes time, but not the engine's: refused while the server is being stopped
  kControl,  ///< of the operator: waits for a step, and is refused to nobody
};

/// Whether a body of so many bytes should take less time than the way to another thread and back
/// (`HandlingPace` sees whether it does). Nothing that waits for a step is quick.
constexpr bool is_quick(RouteKind kind, std::size_t body_bytes) {
  constexpr std::size_t kSmallBytes = 2 << 10;
  if (kind == RouteKind::kQuick) return true;
  return kind == RouteKind::kWork && body_bytes <= kSmallBytes;
}

/// A method of a path, and what answers it.
struct Route {
  std::string_view method;
  std::string_view path;  ///< "{id}" at its end stands for one segment, "{name}" for all that comes
  Access access = Access::kKey;
  RouteKind kind = RouteKind::kWork;
  Handler handler = nullptr;
  ErrorForm errors = ErrorForm::kOpenAi;
};

/// What /livez, /readyz and /health answer where all is well.
inline constexpr std::string_view kGoodState = R"({"status":"ok"})";

/// What a method and a path lead to.
struct RouteMatch {
  const Route* route = nullptr;  ///< null: there is none
  std::string allowed{};         ///< methods of the path, "GET, POST"; empty: there is no such path
  ErrorForm errors = ErrorForm::kOpenAi;  ///< of the path
};

/// A path may end in "/" and leave out "/v1". HEAD finds what GET does.
RouteMatch find_route(std::span<const Route> routes, std::string_view method,
                      std::string_view path);

/// The part of a path that stands for "{id}", with what is encoded by percent signs decoded.
std::string path_id(std::string_view path);
/// The part of a path that stands for "{name}", behind `before`, decoded the same way.
std::string path_name(std::string_view path, std::string_view before);

}  // namespace ingot
