// add_allowed: finds the tokens that threads can take.
#pragma once

#include <cstdint>
#include <span>

#include "constraint/match/machine.h"

namespace ingot::match {

/// Sets the bits of all tokens that one of `threads` can take.
void add_allowed(Machine& machine, std::span<const Thread> threads, std::span<std::uint32_t> bits);

}  // namespace ingot::match
