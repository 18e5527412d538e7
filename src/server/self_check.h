// self_check: tests the tokenizer, chat template and engine before the server is ready.
#pragma once

#include "server/common/service.h"

namespace ingot {

/// Encodes and decodes a text, renders a chat, and generates a few tokens twice, the second time
/// from the prefix cache: both runs must give equal logits, bit for bit.
///
/// Errors: Error{kInternal} naming the failed check; errors of the tested parts.
void self_check(Service& service);

}  // namespace ingot
