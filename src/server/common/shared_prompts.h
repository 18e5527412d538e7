// Prompts that all keys share: what their requests begin with, and their first computation.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "server/common/service.h"

namespace ingot {

/// What completions begin with that begin with the text. Errors: Error{kInvalid} for a text that
/// the tokenizer refuses.
std::vector<std::int32_t> shared_text(std::string_view text, const Tokenizer& tokenizer);

/// What chats begin with whose system says the text, whatever their users say.
///
/// Errors: Error{kInvalid} where the template refuses it, as those do that know no system.
std::vector<std::int32_t> shared_system(std::string_view text, const ChatTemplate& chat);

/// Computes those of the service's options, so that the first request that begins so takes no
/// longer than others: while they are cached, nobody learns from it whether he is the first.
///
/// Errors: what a request's end can be.
void compute_shared_prompts(Service& service);

}  // namespace ingot
