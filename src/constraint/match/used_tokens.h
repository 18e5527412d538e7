// tokens_of_used_texts: the tokens that would repeat a key or an item.
#pragma once

#include <cstdint>
#include <vector>

#include "constraint/match/machine.h"

namespace ingot::match {

/// Returns, sorted, the tokens below `node` of the vocabulary's tree that complete a key or String
/// which the object or array of `thread` already has. The thread has taken the bytes above `node`.
std::vector<std::int32_t> tokens_of_used_texts(const Machine& machine, const Thread& thread,
                                               std::uint32_t node);

}  // namespace ingot::match
