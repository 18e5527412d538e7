// What a server tries before it says that it is ready.
#pragma once

#include "server/common/service.h"

namespace ingot {

/// Encodes and decodes a text, renders a chat, and generates the same few tokens twice, the second
/// time with what the first one left in the cache: both have to give the same bits.
///
/// Errors: Error{kInternal} that says what failed; what the parts throw.
void self_test(Service& service);

}  // namespace ingot
