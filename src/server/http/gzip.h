// gunzip: decompresses a request's body within the limits on bodies.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "server/http/budget.h"
#include "server/http/http.h"

namespace ingot {

/// Replaces `body`, one or more members of gzip (RFC 1952), by the decompressed data. `share` grows
/// with the data. On return, `share` holds the cost of the compressed body and of the data.
///
/// Returns a refusal, and leaves `body` as it was, for
/// - 400: data that is damaged or cut off, or bytes behind the last member;
/// - 413: data of more than `bytes_max` bytes; stops at this limit;
/// - 503: too little memory.
std::optional<HttpRefusal> gunzip(std::string& body, std::size_t bytes_max, BudgetShare& share);

}  // namespace ingot
