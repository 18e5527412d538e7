// The part of a session file that says what it holds: model, parameters, tokens and blocks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/byte_reader.h"
#include "runtime/session/session.h"

namespace ingot {

/// Which blocks of 16 tokens a file holds, from the front on: [blocks, groups], 1 or 0.
struct SessionBlocks {
  std::int64_t blocks = 0;
  std::vector<std::uint8_t> there{};
};

/// The bytes before the blocks, as `write_session` describes them.
std::string format_session_head(const Session& session, const SessionBlocks& blocks);

/// What they say; `in` stands at the first block then.
///
/// Errors: Error{kModel} for anything malformed, and for another order version or numerics profile.
SessionBlocks parse_session_head(ByteReader& in, Session& session);

}  // namespace ingot
