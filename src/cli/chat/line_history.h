// LineHistory: the lines that were typed, kept in a file from one session to the next.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// Where the history of `ingot chat` is kept: $XDG_STATE_HOME/ingot/chat_history, or below
/// ~/.local/state. Nothing without a home folder.
std::optional<std::string> chat_history_path();

/// A file of lines that only its owner may read; several sessions may add to it.
class LineHistory {
 public:
  static constexpr std::size_t kLinesMax = 1000;
  static constexpr std::size_t kBytesMax = std::size_t{4} << 20;

  explicit LineHistory(std::string path) : path_(std::move(path)) {}

  /// The newest lines, the oldest first; none of a file that is not there. A file that has grown to
  /// twice as many is cut to these.
  ///
  /// Errors: Error{kModel} or Error{kIo} for a file that cannot be read or written.
  std::vector<std::string> load() const;
  /// Adds a line, and makes folder and file when they are not there. Errors: Error{kIo}.
  void add(std::string_view line) const;

 private:
  void append(std::string_view text) const;
  void replace(const std::vector<std::string>& lines) const;

  std::string path_;
};

}  // namespace ingot
