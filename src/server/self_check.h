// self_check: what a server checks before it says that it is ready.
#pragma once

#include "server/common/service.h"

namespace ingot {

/// Encodes and decodes a text, renders a chat, and generates a few tokens twice, the second time
/// from the prefix cache: both must have equal logits, bit for bit.
///
/// Errors: Error{kInternal} that says what failed; what the parts throw.
void self_check(Service& service);

}  // namespace ingot
