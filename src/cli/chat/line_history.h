// LineHistory: the typed lines of earlier chats, in a file.
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

/// A file of typed lines. Only the user can read it. Several processes may append to it.
class LineHistory {
 public:
  static constexpr std::size_t kLinesMax = 1000;
  static constexpr std::size_t kBytesMax = std::size_t{4} << 20;

  explicit LineHistory(std::string path) : path_(std::move(path)) {}

  /// Returns the newest kLinesMax lines, oldest first; none if there is no file. If the file has
  /// at least 2 * kLinesMax lines, cuts the file to the newest kLinesMax lines.
  ///
  /// Errors: Error{kModel} or Error{kIo} for a file that cannot be read or written.
  std::vector<std::string> load() const;
  /// Appends a line, and creates folder and file if needed. Errors: Error{kIo}.
  void add(std::string_view line) const;

 private:
  void append(std::string_view text) const;
  void replace(const std::vector<std::string>& lines) const;

  std::string path_;
};

}  // namespace ingot
