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
/// "messages": [{"role", "content"}]}. `model` is a note for readers.
std::string format_saved_chat(const std::vector<ChatMessage>& messages, std::string_view model);

/// The messages of such a text: an optional system message, then pairs of user and assistant.
///
/// Errors: model_error(file, "chat", offset, reason) for any other text, also for unknown members.
std::vector<ChatMessage> parse_saved_chat(std::string_view text, const std::string& file);

/// Reads a file. Errors: as of File and parse_saved_chat.
std::vector<ChatMessage> load_chat(const std::string& path);

/// Writes a file completely or not at all. It replaces an existing file only if that is a saved
/// chat.
///
/// Errors: Error{kInvalid} for an existing file of another kind; Error{kIo}.
void save_chat(const std::string& path, const std::vector<ChatMessage>& messages,
               std::string_view model);

}  // namespace ingot
