// Request ids: makes an id for each HTTP request, and puts it into responses.
#pragma once

#include <span>
#include <string>

#include "server/common/api_error.h"
#include "server/common/route.h"
#include "server/http/http.h"

namespace ingot {

/// Makes an id of 128 random bits, so that ids cannot be guessed: 32 hexadecimal digits. Returns an
/// empty id if the system gives no random numbers.
std::string new_request_id();

/// Adds a request's id to a response's fields, under each name that clients of `form` know. Does
/// nothing if the id is empty.
void add_id_fields(HttpFields& fields, const std::string& id, ErrorForm form);

/// Makes the response to a request that is not admitted: an error, with the request's id.
HttpResponse refusal_response(const ApiError& error, ErrorForm form, const std::string& id);
/// Makes the response to a request that cannot be read. `request` has what was read of it.
HttpResponse invalid_http_response(const HttpRefusal& refusal, const HttpRequest& request,
                                   std::span<const Route> routes);

}  // namespace ingot
