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

/// Begins a stored message that is escaped. No key types it, so old files have no such lines.
constexpr char kMark = '\x1f';

std::string escape(std::string_view message) {
  const bool is_plain = message.find('\n') == std::string_view::npos && message.front() != kMark;
  if (is_plain) return std::string(message);
  std::string line{kMark};
  for (const char c : message) {
    if (c == '\n' || c == '\\') line += '\\';
    line += c == '\n' ? 'n' : c;
  }
  return line;
}

std::string unescape(std::string_view line) {
  if (!line.starts_with(kMark)) return std::string(line);
  std::string message;
  for (std::size_t i = 1; i < line.size(); ++i) {
    const bool is_escaped = line[i] == '\\' && i + 1 < line.size();
    if (is_escaped) ++i;
    message += is_escaped && line[i] == 'n' ? '\n' : line[i];
  }
  return message;
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> messages;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string message = unescape(text.substr(0, end));
    if (!message.empty()) messages.push_back(std::move(message));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return messages;
}

/// The newest messages that have a place in half of the largest file.
std::vector<std::string> newest(std::vector<std::string> messages) {
  std::size_t bytes = 0;
  std::size_t count = 0;
  while (count < std::min(messages.size(), LineHistory::kMessagesMax)) {
    bytes += escape(messages[messages.size() - 1 - count]).size() + 1;
    if (bytes > LineHistory::kBytesMax / 2) break;
    ++count;
  }
  messages.erase(messages.begin(), messages.end() - static_cast<std::ptrdiff_t>(count));
  return messages;
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
  const std::string text = File(path_).read_all(kBytesMax);
  std::vector<std::string> messages = split(text);
  const bool is_long = messages.size() >= 2 * kMessagesMax || text.size() > kBytesMax / 2;
  messages = newest(std::move(messages));
  if (is_long) replace(messages);
  return messages;
}

void LineHistory::add(std::string_view message) const {
  if (message.empty() || message.size() > kMessageBytesMax) return;
  const std::string line = escape(message) + "\n";
  std::error_code none;
  const std::uintmax_t size = fs::file_size(path_, none);
  if (!none && size + line.size() > kBytesMax) load();  // cuts it
  append(line);
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

void LineHistory::replace(const std::vector<std::string>& messages) const {
  std::string text;
  for (const std::string& message : messages) text += escape(message) + "\n";
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
