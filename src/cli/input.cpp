// Reads stdin, files and pipes within size limits.
#include "cli/input.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/errno_text.h"
#include "base/error.h"
#include "base/file.h"
#include "base/index.h"
#include "base/text.h"
#include "cli/interrupt.h"

namespace ingot {

namespace {

constexpr std::size_t kInputBytesMax = std::size_t{1} << 28;
constexpr std::size_t kLinesMax = 65536;
constexpr std::string_view kStdin = "stdin";

/// Milliseconds between looks for a signal, because one that arrives just before a wait does not
/// end the wait.
constexpr int kWaitMs = 200;

void wait_for_data(int fd) {
  pollfd waited{.fd = fd, .events = POLLIN, .revents = 0};
  for (;;) {
    const int ready = poll(&waited, 1, kWaitMs);
    if (ready > 0 || (ready < 0 && errno != EINTR)) return;
    waiting_point();
  }
}

/// Waits for data and appends it to `text`. Returns the number of bytes; 0 at the end; -1 and sets
/// errno on failure.
ssize_t read_more(int fd, std::string& text) {
  char buffer[1 << 16];
  for (;;) {
    wait_for_data(fd);
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) {
      waiting_point();
      continue;
    }
    if (n > 0) {
      interruption_point();
      text.append(buffer, to_size(n));
    }
    return n;
  }
}

bool is_pipe(const std::string& path) {
  struct stat st {};
  return path.find('\0') == path.npos && stat(path.c_str(), &st) == 0 && S_ISFIFO(st.st_mode);
}

/// Waits until a named pipe has a writer.
Fd open_pipe(const std::string& path) {
  for (;;) {
    Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (fd) return fd;
    if (errno != EINTR) throw model_error(path, "file", errno_text(errno));
    waiting_point();
  }
}

std::string read_pipe(int fd, const std::string& name, std::uint64_t bytes_max) {
  std::string text;
  for (;;) {
    const ssize_t n = read_more(fd, text);
    if (n == 0) return text;
    if (n < 0) {
      const std::string reason = cat("cannot read: ", errno_text(errno));
      if (name == kStdin) throw Error(ErrorCode::kIo, cat(name, ": ", reason));
      throw model_error(name, "file", reason);
    }
    if (text.size() > bytes_max) {
      throw model_error(name, "file",
                        cat("it has more than the ", bytes_max, " bytes that are allowed"));
    }
  }
}

}  // namespace

bool read_more_stdin(std::string& text) {
  const ssize_t n = read_more(STDIN_FILENO, text);
  if (n < 0) throw Error(ErrorCode::kIo, cat("stdin: cannot read: ", errno_text(errno)));
  return n > 0;
}

std::string read_stdin() {
  std::string all;
  while (read_more_stdin(all)) {
    if (all.size() > kInputBytesMax) {
      throw Error(ErrorCode::kInvalid,
                  cat("stdin: more than ", kInputBytesMax, " bytes, run it in parts"));
    }
  }
  return all;
}

bool names_stdin(std::string_view path) {
  return path == "-" || path == "/dev/stdin" || path == "/dev/fd/0" || path == "/proc/self/fd/0";
}

void claim_stdin(std::string_view reader) {
  static std::string owner;  // a process has one stdin
  if (owner.empty()) owner = reader;
  if (owner == reader) return;
  throw Error(ErrorCode::kInvalid, cat(owner, " and ", reader,
                                       " both read standard input: name a file for one of them"));
}

TextInput read_input(const std::string& path, std::uint64_t bytes_max) {
  if (names_stdin(path)) {
    const std::string name(kStdin);
    return {.name = name, .text = read_pipe(STDIN_FILENO, name, bytes_max)};
  }
  if (is_pipe(path)) {
    return {.name = path, .text = read_pipe(open_pipe(path).get(), path, bytes_max)};
  }
  return {.name = path, .text = File(path).read_all(bytes_max)};
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    if (lines.back().ends_with('\r')) lines.back().remove_suffix(1);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (lines.size() > kLinesMax) {
      throw Error(ErrorCode::kInvalid,
                  cat("stdin: more than ", kLinesMax, " lines, run them in parts"));
    }
  }
  return lines;
}

Json read_json(const std::string& path, const std::string& section, const JsonLimits& limits) {
  const TextInput input = read_input(path, limits.bytes_max);
  return parse_json_file(input.text, input.name, section, limits);
}

}  // namespace ingot
