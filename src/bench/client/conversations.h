// Reads recorded conversations in ShareGPT's form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// Largest accepted file: 1 GiB, since the whole file is read into memory.
inline constexpr std::uint64_t kConversationsBytesMax = std::uint64_t{1} << 30;

/// A conversation's first message, and the size of its reply.
struct Conversation {
  std::string prompt;            ///< the first message except system messages; not empty
  std::size_t answer_bytes = 0;  ///< number of bytes of the reply
};

/// Parses `[{"conversations": [{"from", "value"}, ..]}, ..]`; also accepts the names `messages`,
/// `role` and `content`. Skips conversations without a prompt or a reply.
///
/// Errors: model_error(file, section, offset, reason), also if no conversation remains.
std::vector<Conversation> parse_conversations(std::string_view text, const std::string& file);

/// Reads and parses a file of conversations. Errors: also those of File::read_all.
std::vector<Conversation> read_conversations(const std::string& path);

}  // namespace ingot
