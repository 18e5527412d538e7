// Conversations that people had with a model, in the form of ShareGPT.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// The largest file that is read.
inline constexpr std::uint64_t kConversationsBytesMax = std::uint64_t{1} << 30;

/// The beginning of a conversation.
struct Conversation {
  std::string prompt;            ///< what the person wrote first; not empty
  std::size_t answer_bytes = 0;  ///< of the answer to it
};

/// Reads `[{"conversations": [{"from", "value"}, ..]}, ..]`; `role` and `content` are possible
/// names too. What does not begin with a text and an answer to it is left out.
///
/// Errors: model_error(file, section, offset, reason), also where nothing is left.
std::vector<Conversation> parse_conversations(std::string_view text, const std::string& file);

/// The same of a file. Errors: as of File::read_all too.
std::vector<Conversation> read_conversations(const std::string& path);

}  // namespace ingot
