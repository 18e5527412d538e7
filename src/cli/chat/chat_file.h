// Saved chats: writes a conversation as a JSON file, and reads it.
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

/// Formats a conversation as a file's text: {"format": "ingot-chat", "version": 1, "model",
/// "messages": [{"role", "content"}]}. `model` is only for people who read the file.
std::string format_saved_chat(const std::vector<ChatMessage>& messages, std::string_view model);

/// Parses a saved chat: an optional system message, then pairs of user and assistant messages.
///
/// Errors: model_error(file, "chat", offset, reason) for any other text, also for unknown members.
std::vector<ChatMessage> parse_saved_chat(std::string_view text, const std::string& file);

/// Reads a saved chat from a file. Errors: those of File and parse_saved_chat.
std::vector<ChatMessage> load_chat(const std::string& path);

/// Writes a saved chat, completely or not at all. Replaces an existing file only if it is a saved
/// chat.
///
/// Errors: Error{kInvalid} for an existing file of another kind; Error{kIo}.
void save_chat(const std::string& path, const std::vector<ChatMessage>& messages,
               std::string_view model);

}  // namespace ingot
