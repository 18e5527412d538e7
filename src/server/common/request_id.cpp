// Request ids: random digits, fetched for many ids at once.
#include "server/common/request_id.h"

#include <openssl/rand.h>

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace ingot {

std::string new_request_id() {
  constexpr std::size_t kBytes = 16;
  thread_local std::array<unsigned char, 256 * kBytes> random;
  thread_local std::size_t used = random.size();
  if (used == random.size()) {
    if (RAND_bytes(random.data(), static_cast<int>(random.size())) != 1) return {};
    used = 0;
  }
  const std::span bytes(random.data() + used, kBytes);
  used += kBytes;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string id;
  for (const unsigned char byte : bytes) {
    id += kDigits[byte >> 4U];
    id += kDigits[byte & 15U];
  }
  return id;
}

void add_id_fields(HttpFields& fields, const std::string& id, ErrorForm form) {
  if (id.empty()) return;
  fields.emplace_back("X-Request-Id", id);
  // Anthropic's clients read the id from this field.
  if (form == ErrorForm::kAnthropic) fields.emplace_back("request-id", id);
}

HttpResponse refusal_response(const ApiError& error, ErrorForm form, const std::string& id) {
  HttpResponse response = error_response(error, form, id);
  add_id_fields(response.fields, id, form);
  return response;
}

HttpResponse invalid_http_response(const HttpRefusal& refusal, const HttpRequest& request,
                                   std::span<const Route> routes) {
  const ErrorForm form = error_form(find_route(routes, request.method, request.path), request);
  return refusal_response({refusal.status, "invalid_http", refusal.message}, form,
                          new_request_id());
}

}  // namespace ingot
