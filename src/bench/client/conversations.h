// Reads recorded conversations in ShareGPT's form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// Largest accepted file in bytes.
inline constexpr std::uint64_t kConversationsBytesMax = std::uint64_t{1} << 30;

/// The beginning of a conversation.
struct Conversation {
  std::string prompt;            ///< the first message; not empty
  std::size_t answer_bytes = 0;  ///< size of the reply
};

/// Reads `[{"conversations": [{"from", "value"}, ..]}, ..]`; `role` and `content` are
/// accepted too. Conversations without a first text and reply are skipped.
///
/// Errors: model_error(file, section, offset, reason), also when no conversation remains.
std::vector<Conversation> parse_conversations(std::string_view text, const std::string& file);

/// Reads the conversations of a file. Errors: also those of File::read_all.
std::vector<Conversation> read_conversations(const std::string& path);

}  // namespace ingot
