// Saved chats: writes a conversation as a JSON file, and reads it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "load/json.h"

namespace ingot {

/// A call of a tool.
struct ChatCall {
  std::string id;
  std::string name;
  std::string arguments;  ///< JSON

  friend bool operator==(const ChatCall&, const ChatCall&) = default;
};

/// One message; its role is "system", "user", "assistant" or "tool".
struct ChatMessage {
  std::string role;
  std::string content;
  std::string reasoning{};        ///< the assistant's, in a chat with tools
  std::vector<ChatCall> calls{};  ///< the assistant's
  std::string call_id{};          ///< for a tool's result: the call to which it belongs
  std::string name{};             ///< for a tool's result: the tool

  friend bool operator==(const ChatMessage&, const ChatMessage&) = default;
};

inline constexpr std::size_t kChatMessagesMax = 4096;
inline constexpr std::size_t kChatFileBytesMax = std::size_t{64} << 20;

/// How the arguments of calls are written.
enum class ArgumentForm {
  kText,    ///< as JSON text, as in OpenAI's API
  kObject,  ///< as a JSON object if they are one, as templates expect
};

/// Returns a message in the form of OpenAI's API.
Json message_json(const ChatMessage& message, ArgumentForm form);

/// Formats a conversation as a file's text: {"format": "ingot-chat", "version": 1, "model",
/// "messages": [{"role", "content"}]}. Messages of the assistant may also have "reasoning_content"
/// and "tool_calls", and the results of calls have "tool_call_id" and "name", as in OpenAI's API.
/// `model` is only for people who read the file.
std::string format_saved_chat(const std::vector<ChatMessage>& messages, std::string_view model);

/// Parses a saved chat: an optional system message, then turns. A turn is a message of the user, a
/// reply, and after a reply with calls their results in order and another reply. Only the last turn
/// may end in results.
///
/// Errors: model_error(file, "chat", offset, reason) for any other text, also for unknown members.
std::vector<ChatMessage> parse_saved_chat(std::string_view text, const std::string& file);

/// Reads a saved chat from a file or a pipe. Errors: those of read_input and parse_saved_chat.
std::vector<ChatMessage> load_chat(const std::string& path);

/// Writes a saved chat, completely or not at all. Replaces an existing file only if it is a saved
/// chat.
///
/// Errors: Error{kInvalid} for an existing file of another kind and for a pipe; Error{kIo}.
void save_chat(const std::string& path, const std::vector<ChatMessage>& messages,
               std::string_view model);

}  // namespace ingot
