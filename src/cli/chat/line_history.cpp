// LineHistory: reads, appends to and shortens the history file.
#include "cli/chat/line_history.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/errno_text.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace ingot {

namespace {

namespace fs = std::filesystem;

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

std::optional<std::string> chat_history_path() {
  constexpr std::string_view kName = "/ingot/chat_history";
  // The XDG specification ignores a path that is not absolute.
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state == '/') {
    return cat(std::string_view(state), kName);
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home != '/') return std::nullopt;
  return cat(std::string_view(home), "/.local/state", kName);
}

std::vector<std::string> LineHistory::load() const {
  std::error_code unknown;
  if (!fs::exists(path_, unknown)) return {};
  std::vector<std::string> lines = split(File(path_).read_all(kBytesMax));
  if (lines.size() <= kLinesMax) return lines;
  const bool is_long = lines.size() >= 2 * kLinesMax;
  lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(kLinesMax));
  if (is_long) replace(lines);
  return lines;
}

void LineHistory::add(std::string_view line) const {
  if (line.empty() || line.find('\n') != std::string_view::npos) return;
  append(cat(line, "\n"));
}

/// Appends with one write, so that lines of several processes do not mix.
void LineHistory::append(std::string_view text) const {
  std::error_code error;
  fs::create_directories(fs::path(path_).parent_path(), error);
  const int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK;
  const Fd fd(open(path_.c_str(), flags, S_IRUSR | S_IWUSR));
  if (!fd || write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    throw Error(ErrorCode::kIo, cat(printable(path_, 4096), ": cannot write: ", errno_text(errno)));
  }
}

void LineHistory::replace(const std::vector<std::string>& lines) const {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  const LineHistory fresh(path_ + ".new");
  std::error_code error;
  fs::remove(fresh.path_, error);
  fresh.append(text);
  fs::rename(fresh.path_, path_, error);
  if (error) {
    throw Error(ErrorCode::kIo, cat(printable(path_, 4096), ": cannot write: ", error.message()));
  }
}

}  // namespace ingot
