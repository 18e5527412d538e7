// LineHistory: the messages of earlier chats, in a file.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// Returns the path of `ingot chat`'s history file: $XDG_STATE_HOME/ingot/chat_history, by default
/// ~/.local/state/ingot/chat_history. Returns nothing if there is no home folder.
std::optional<std::string> chat_history_path();

/// A file of messages, one a line. A message of several lines is stored as one line: a mark, then
/// the text with \n for a line break and \\ for a backslash. Only the user can read the file.
/// Several processes may append to it.
class LineHistory {
 public:
  static constexpr std::size_t kMessagesMax = 1000;
  /// Size of the file, and of a message in it. Only this run remembers longer messages.
  static constexpr std::size_t kBytesMax = std::size_t{4} << 20;
  static constexpr std::size_t kMessageBytesMax = std::size_t{64} << 10;

  explicit LineHistory(std::string path) : path_(std::move(path)) {}

  /// Returns the newest kMessagesMax messages, oldest first; none if there is no file. Cuts a file
  /// that has become long.
  ///
  /// Errors: Error{kModel} or Error{kIo} for a file that cannot be read or written.
  std::vector<std::string> load() const;
  /// Appends a message, and creates folder and file if needed. Cuts a file that has become long.
  /// Errors: those of `load`.
  void add(std::string_view message) const;

 private:
  void append(std::string_view text) const;
  void replace(const std::vector<std::string>& messages) const;

  std::string path_;
};

}  // namespace ingot
