// Runs commands of tools with posix_spawn.
#include "cli/chat/tool_command.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/errno_text.h"
#include "base/error.h"
#include "base/file.h"
#include "base/index.h"
#include "base/text.h"
#include "base/utf8.h"

extern char** environ;

namespace ingot {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// How long to sleep at most before `stop` is asked again.
constexpr milliseconds kAskEvery{100};
/// How often to look whether a command that closed its output has exited.
constexpr milliseconds kLookEvery{5};

/// A pipe whose ends no other program inherits.
struct Pipe {
  Fd read;
  Fd write;

  Pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
      throw Error(ErrorCode::kIo, cat("cannot make a pipe: ", errno_text(errno)));
    }
    read = Fd(ends[0]);
    write = Fd(ends[1]);
  }
};

void set_non_blocking(const Fd& fd) { fcntl(fd.get(), F_SETFL, O_NONBLOCK); }

/// Signals that ingot handles or ignores have their usual effect in the command.
void reset_signals(posix_spawnattr_t& attributes) {
  sigset_t none;
  sigset_t usual;
  sigemptyset(&none);
  sigemptyset(&usual);
  for (const int signal : {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM, SIGHUP}) sigaddset(&usual, signal);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
}

/// Starts a program; returns its process id, or the negative errno.
pid_t spawn(const std::vector<std::string>& argv, const Fd& input, const Fd& output) {
  std::vector<char*> words;
  words.reserve(argv.size() + 1);
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, input.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output.get(), STDOUT_FILENO);
  reset_signals(attributes);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, words[0], &actions, &attributes, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error == 0 ? pid : -error;
}

/// A running command. The destructor kills it with all processes of its group.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  ~Child() {
    if (!has_ended_) end();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Returns whether the command has exited; then `status` is its wait status.
  bool poll() {
    if (!has_ended_) has_ended_ = waitpid(pid_, &status_, WNOHANG) == pid_;
    return has_ended_;
  }
  void end() {
    kill(-pid_, SIGKILL);
    while (waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
    }
    has_ended_ = true;
  }
  int status() const { return status_; }

 private:
  pid_t pid_;
  int status_ = 0;
  bool has_ended_ = false;
};

/// Feeds a command and reads its output.
class CommandPipes {
 public:
  CommandPipes(std::string_view input, Fd in, Fd out, std::size_t bytes_max)
      : input_(input), in_(std::move(in)), out_(std::move(out)), bytes_max_(bytes_max) {
    set_non_blocking(in_);
    set_non_blocking(out_);
    if (input_.empty()) in_.reset();
  }

  bool is_open() const { return in_ || out_; }
  bool is_cut() const { return is_cut_; }
  std::string take_output() { return std::move(output_); }

  /// Waits up to `time` until bytes can be moved, and moves them. Returns whether any could be.
  bool move(milliseconds time) {
    std::array<pollfd, 2> fds{pollfd{.fd = in_.get(), .events = POLLOUT, .revents = 0},
                              pollfd{.fd = out_.get(), .events = POLLIN, .revents = 0}};
    if (::poll(fds.data(), fds.size(), static_cast<int>(time.count())) <= 0) return false;
    if (fds[0].revents != 0) feed();
    if (fds[1].revents != 0) drain();
    return true;
  }

 private:
  void feed() {
    const ssize_t n = write(in_.get(), input_.data(), input_.size());
    if (n > 0) input_.remove_prefix(to_size(n));
    const bool is_closed = n < 0 && errno != EAGAIN && errno != EINTR;
    if (is_closed || input_.empty()) in_.reset();
  }

  void drain() {
    std::array<char, 1 << 14> buffer;
    const ssize_t n = read(out_.get(), buffer.data(), buffer.size());
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n > 0) output_.append(buffer.data(), std::min(to_size(n), bytes_max_ - output_.size()));
    is_cut_ = n > 0 && total_ + to_size(n) > bytes_max_;
    total_ += n > 0 ? to_size(n) : 0;
    if (n <= 0 || is_cut_) out_.reset();
  }

  std::string_view input_;  ///< what the command has not read
  Fd in_;
  Fd out_;
  std::size_t bytes_max_;
  std::size_t total_ = 0;
  std::string output_;
  bool is_cut_ = false;
};

CommandResult ended(int status, bool is_cut) {
  if (is_cut) return {.end = CommandResult::End::kCut};
  if (WIFSIGNALED(status)) return {CommandResult::End::kSignal, WTERMSIG(status)};
  return {CommandResult::End::kExited, WEXITSTATUS(status)};
}

/// Waits for the command's end. A process that the command leaves behind may hold the output open,
/// so after its exit this function reads only the bytes that have arrived.
CommandResult wait_for(Child& child, CommandPipes& pipes, milliseconds time,
                       FunctionRef<bool()> stop) {
  const Clock::time_point until = Clock::now() + time;
  for (;;) {
    if (stop()) return {.end = CommandResult::End::kStopped};
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
    if (left.count() <= 0) return {.end = CommandResult::End::kTimeout};
    if (child.poll()) {
      while (pipes.is_open() && pipes.move(milliseconds(0))) {
      }
      return ended(child.status(), pipes.is_cut());
    }
    pipes.move(std::min(left, pipes.is_open() ? kAskEvery : kLookEvery));
  }
}

std::string ending(const CommandResult& result) {
  using End = CommandResult::End;
  switch (result.end) {
    case End::kExited:
      return result.code == 0 ? "" : cat("exit status ", result.code);
    case End::kSignal:
      return cat("ended by signal ", result.code);
    case End::kCut:
      return cat("output cut at ", result.output.size(), " bytes");
    case End::kTimeout:
      return "stopped: it took too long";
    case End::kStopped:
      return "stopped by the user";
    case End::kNotBegun:
      return cat("cannot run the command: ", errno_text(result.code));
  }
  return "";
}

}  // namespace

CommandResult run_tool_command(const std::vector<std::string>& argv, std::string_view input,
                               const CommandLimits& limits, FunctionRef<bool()> stop) {
  INGOT_CHECK(!argv.empty(), "a command has no words");
  Pipe to;
  Pipe from;
  const pid_t pid = spawn(argv, to.read, from.write);
  if (pid < 0) return {CommandResult::End::kNotBegun, -pid};
  Child child(pid);
  to.read.reset();
  from.write.reset();
  CommandPipes pipes(input, std::move(to.write), std::move(from.read), limits.output_bytes);
  CommandResult result = wait_for(child, pipes, limits.time, stop);
  result.output = pipes.take_output();
  return result;
}

std::string tool_result_text(const CommandResult& result) {
  std::string text = to_valid_utf8(result.output);
  const std::string note = ending(result);
  if (note.empty()) return text.empty() ? "[no output]" : text;
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  return cat(text, "[", note, "]");
}

}  // namespace ingot
