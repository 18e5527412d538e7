// Prompts that all keys share: what their requests begin with, and their first computation.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "server/service.h"

namespace ingot {

/// What prompts begin with that begin with a text: as it stands, and as the system message of a
/// chat where there is a template.
///
/// Errors: Error{kInvalid} for a text that the tokenizer or the template refuses.
std::vector<std::vector<std::int32_t>> shared_prompts(std::string_view text,
                                                      const Tokenizer& tokenizer,
                                                      const ServedChat* chat);

/// Computes them, so that the first request that begins so takes no longer than others: nobody
/// learns from it whether he is the first.
///
/// Errors: what a request's end can be.
void compute_shared_prompts(Service& service,
                            const std::vector<std::vector<std::int32_t>>& prompts);

}  // namespace ingot
