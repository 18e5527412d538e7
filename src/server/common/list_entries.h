// each_entry: reads a list of a request's body, entry by entry, while the response is wanted.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "load/json.h"
#include "server/common/endpoint.h"
#include "server/common/message_text.h"

namespace ingot {

/// Calls `read(entry, place)` for each entry of the list `name`. `place` is the entry's path in the
/// body, such as "messages[3]".
///
/// Errors: those of `read`, and before each entry those of Call::require_wanted.
template <class Read>
void each_entry(const Call& call, std::string_view name, const Json::Array& list, Read&& read) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    call.require_wanted();
    read(list[i], entry_place(name, i));
  }
}

}  // namespace ingot
