// Call: checks between the parts of an endpoint's work.
#include "server/common/endpoint.h"

#include "server/common/service.h"

namespace ingot {

void Call::require_wanted() const {
  if (has_left.load()) throw client_left();
  if (service.is_draining()) throw draining();
}

}  // namespace ingot
