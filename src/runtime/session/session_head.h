// Formats and parses a session file's head: model, parameters, tokens and list of blocks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/byte_reader.h"
#include "runtime/session/session.h"

namespace ingot {

/// Says which of a sequence's first blocks a file contains. A block has 16 tokens.
struct SessionBlocks {
  std::int64_t blocks = 0;
  std::vector<std::uint8_t> there{};  ///< [blocks, groups]: 1 if the file contains the block
};

/// Makes the bytes that come before the blocks in a session file: see `write_session`.
std::string format_session_head(const Session& session, const SessionBlocks& blocks);

/// Parses the head of a session file into `session`. Leaves `in` at the first block.
///
/// Errors: Error{kModel} if the head is malformed or has another order version.
SessionBlocks parse_session_head(ByteReader& in, Session& session);

}  // namespace ingot
