// TerminalMode: changes the mode with tcsetattr, and restores it in signal handlers too.
#include "cli/terminal/terminal_mode.h"

#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <string_view>

#include "base/forced_exit.h"
#include "base/index.h"
#include "cli/terminal/terminal_size.h"

namespace ingot {

namespace {

constexpr std::string_view kBracketedPasteOn = "\x1b[?2004h";
constexpr std::string_view kBracketedPasteOff = "\x1b[?2004l";

/// Signals that end the process at once, unless the program handles them.
constexpr std::array kFatalSignals{SIGQUIT, SIGABRT, SIGSEGV, SIGBUS, SIGILL,
                                   SIGFPE,  SIGTRAP, SIGSYS,  SIGXCPU};
constexpr tcflag_t kEcho = ECHO | ECHONL;

/// Written only while `is_held` is false. Then no handler reads it.
struct HeldTerminal {
  int fd = -1;
  KeyMode mode = KeyMode::kSilent;
  bool brackets_pastes = false;
  termios before{};
  termios during{};
  tcflag_t silenced = 0;  ///< with kSilent: the bits of c_lflag that this process cleared
  std::array<struct sigaction, kFatalSignals.size()> fatal{};
  std::array<struct sigaction, 2> stop{};  ///< handling of SIGTSTP and SIGCONT
};
HeldTerminal held;
std::atomic<bool> is_held{false};
std::atomic<int> continued{0};

/// A background job that changes the terminal is stopped, or disturbs the job in front.
bool is_in_front(int fd) {
  const pid_t group = tcgetpgrp(fd);
  return group < 0 || group == getpgrp();
}

void send(std::string_view sequence) {
  if (!held.brackets_pastes) return;
  [[maybe_unused]] const ssize_t n = write(held.fd, sequence.data(), sequence.size());
}

/// Several processes may be silent on one terminal: each changes only the bits of its own.
void begin_silence(int when) {
  termios now{};
  if (tcgetattr(held.fd, &now) != 0) return;
  held.silenced |= now.c_lflag & kEcho;
  now.c_lflag &= ~kEcho;
  tcsetattr(held.fd, when, &now);
}

void end_silence() {
  termios now{};
  if (held.silenced == 0 || tcgetattr(held.fd, &now) != 0) return;
  now.c_lflag |= held.silenced;
  held.silenced = 0;
  tcsetattr(held.fd, TCSANOW, &now);
}

void give_back() {
  if (!is_held.load() || !is_in_front(held.fd)) return;
  send(kBracketedPasteOff);
  if (held.mode == KeyMode::kSilent) return end_silence();
  tcsetattr(held.fd, TCSANOW, &held.before);
}

void take_over() {
  if (!is_held.load() || !is_in_front(held.fd)) return;
  if (held.mode == KeyMode::kSilent) return begin_silence(TCSANOW);
  tcsetattr(held.fd, TCSANOW, &held.during);
  send(kBracketedPasteOn);
}

extern "C" void end_with_signal(int signal) {
  give_back();
  raise(signal);  // the handler is gone
}

extern "C" void take_over_again(int) {
  const int error = errno;
  take_over();
  ++continued;
  errno = error;
}

void handle_signal(int signal, void (*handler)(int), int flags, struct sigaction& before) {
  struct sigaction action {};
  sigaction(signal, nullptr, &before);
  if ((before.sa_flags & SA_SIGINFO) != 0 || before.sa_handler != SIG_DFL) return;
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(signal, &action, nullptr);
}

/// Leaves a handler that others have installed since.
void restore_signal(int signal, void (*handler)(int), const struct sigaction& before) {
  struct sigaction now {};
  sigaction(signal, nullptr, &now);
  if (now.sa_handler == handler) sigaction(signal, &before, nullptr);
}

extern "C" void stop_now(int signal);

/// Calls `send_stop`, which sends SIGTSTP, with the usual handling: no SIGCONT can come in between.
/// The terminal goes back first: once one process of the job has stopped, the shell takes it.
void stop_with(void (*send_stop)()) {
  give_back();
  struct sigaction usual {};
  struct sigaction handling {};
  usual.sa_handler = SIG_DFL;
  sigaction(SIGTSTP, nullptr, &handling);
  const bool is_handled = handling.sa_handler == stop_now;
  if (is_handled) sigaction(SIGTSTP, &usual, nullptr);
  send_stop();  // returns when the process continues
  if (is_handled) sigaction(SIGTSTP, &handling, nullptr);
  take_over();  // no SIGCONT comes if the system did not stop the process
}

extern "C" void stop_now(int) {
  const int error = errno;
  stop_with([] { raise(SIGTSTP); });
  errno = error;
}

termios raw(const termios& before) {
  termios during = before;
  during.c_lflag &= ~(kEcho | static_cast<tcflag_t>(ICANON | ISIG | IEXTEN));
  during.c_iflag &= ~static_cast<tcflag_t>(ICRNL | INLCR | IGNCR | IXON | ISTRIP | BRKINT | PARMRK);
  during.c_cc[VMIN] = 1;
  during.c_cc[VTIME] = 0;
  return during;
}

}  // namespace

TerminalMode::TerminalMode(int fd, KeyMode mode) {
  if (is_held.load() || isatty(fd) != 1) return;
  if (mode == KeyMode::kSilent && !is_in_front(fd)) return;
  held = {};
  if (tcgetattr(fd, &held.before) != 0) return;
  held.fd = fd;
  held.mode = mode;
  held.during = raw(held.before);
  held.brackets_pastes = mode == KeyMode::kRaw && !is_dumb_terminal();
  is_active_ = true;
  is_held.store(true);
  add_forced_exit_action(give_back);
  for (std::size_t i = 0; i < kFatalSignals.size(); ++i) {
    handle_signal(kFatalSignals[i], end_with_signal, static_cast<int>(SA_RESETHAND | SA_NODEFER),
                  held.fatal[i]);
  }
  handle_signal(SIGTSTP, stop_now, SA_NODEFER | SA_RESTART, held.stop[0]);
  handle_signal(SIGCONT, take_over_again, 0, held.stop[1]);
  if (mode == KeyMode::kSilent) {
    begin_silence(TCSADRAIN);
    return;
  }
  // A process in the background stops here until it comes to the front.
  tcsetattr(fd, TCSADRAIN, &held.during);
  send(kBracketedPasteOn);
}

TerminalMode::~TerminalMode() {
  if (!is_active_) return;
  restore_signal(SIGTSTP, stop_now, held.stop[0]);
  restore_signal(SIGCONT, take_over_again, held.stop[1]);
  for (std::size_t i = 0; i < kFatalSignals.size(); ++i) {
    restore_signal(kFatalSignals[i], end_with_signal, held.fatal[i]);
  }
  give_back();
  is_held.store(false);
}

// NOFLSH keeps the keys that wait when a signal comes.
SignalKeys::SignalKeys() {
  held.during.c_lflag |= static_cast<tcflag_t>(ISIG | NOFLSH);
  take_over();
}

SignalKeys::~SignalKeys() {
  held.during.c_lflag &= ~static_cast<tcflag_t>(ISIG | NOFLSH);
  take_over();
}

void TerminalMode::suspend() {
  stop_with([] { kill(0, SIGTSTP); });
}

int TerminalMode::times_continued() { return continued.load(); }

}  // namespace ingot
