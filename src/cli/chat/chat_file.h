// Saved chats: a conversation as a JSON file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// One message; its role is "system", "user" or "assistant".
struct ChatMessage {
  std::string role;
  std::string content;

  friend bool operator==(const ChatMessage&, const ChatMessage&) = default;
};

inline constexpr std::size_t kChatMessagesMax = 4096;
inline constexpr std::size_t kChatFileBytesMax = std::size_t{64} << 20;

/// A conversation as the text of a file: {"format": "ingot-chat", "version": 1, "model",
/// "messages": [{"role", "content"}]}. `model` is for readers alone.
std::string format_saved_chat(const std::vector<ChatMessage>& messages, std::string_view model);

/// The messages of such a text: perhaps the system's, then the user's and the assistant's in turn,
/// each question with its reply.
///
/// Errors: model_error(file, "chat", offset, reason) for anything else, members that are unknown
/// included.
std::vector<ChatMessage> parse_saved_chat(std::string_view text, const std::string& file);

/// Reads a file. Errors: as of File and parse_saved_chat.
std::vector<ChatMessage> load_chat(const std::string& path);

/// Writes a file, whole or not at all; in place of another one only if that is a saved chat too.
///
/// Errors: Error{kInvalid} when something else is there; Error{kIo}.
void save_chat(const std::string& path, const std::vector<ChatMessage>& messages,
               std::string_view model);

}  // namespace ingot
