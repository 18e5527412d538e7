// Tables of all HTTP routes: those of the API and of the admin socket.
#pragma once

#include <span>

#include "server/common/route.h"

namespace ingot {

/// All routes of the API.
std::span<const Route> routes();
/// The operator's routes, which only the admin socket serves.
std::span<const Route> admin_routes();

}  // namespace ingot
