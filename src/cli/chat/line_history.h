// LineHistory: the typed lines of earlier chats, in a file.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// The file of `ingot chat`'s history: $XDG_STATE_HOME/ingot/chat_history, by default in
/// ~/.local/state/ingot. Nothing if there is no home folder.
std::optional<std::string> chat_history_path();

/// A file of lines that only its owner can read. Several processes may append to it.
class LineHistory {
 public:
  static constexpr std::size_t kLinesMax = 1000;
  static constexpr std::size_t kBytesMax = std::size_t{4} << 20;

  explicit LineHistory(std::string path) : path_(std::move(path)) {}

  /// The newest kLinesMax lines, oldest first; none if there is no file. A file that has
  /// at least twice as many lines is cut to the newest kLinesMax.
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
