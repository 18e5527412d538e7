// Tables of all HTTP routes: the API's routes and the admin socket's routes.
#pragma once

#include <span>

#include "server/common/route.h"

namespace ingot {

/// Returns all routes of the API.
std::span<const Route> routes();
/// Returns the operator's routes, which only the admin socket serves.
std::span<const Route> admin_routes();

}  // namespace ingot
