// LineEditor: reads bytes, applies keys to the text, and shows the text.
#include "cli/terminal/line_editor.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/index.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/interrupt.h"
#include "cli/log.h"
#include "cli/output.h"
#include "cli/terminal/terminal_size.h"

namespace ingot {

namespace {

/// How long the rest of a key's bytes may take: longer than a slow line needs, shorter than people
/// notice after ESC.
constexpr int kKeyMs = 50;
/// How often to look at signals that another thread handled, and at the terminal's size.
constexpr int kTickMs = 250;
/// A paste whose bytes stop for this long can be ended with Ctrl-C, if its end was lost.
constexpr int kPasteStallsMs = 1000;
/// Reads, of up to 4 KiB each on Linux, before the text is shown again.
constexpr int kReadsMax = 256;

std::u32string decode_all(std::string_view text) {
  std::u32string out;
  while (!text.empty()) {
    const Utf8Char c = decode_utf8(text);
    out += c.code;
    text.remove_prefix(c.size);
  }
  return out;
}

}  // namespace

LineEditor::LineEditor() : mode_(STDIN_FILENO, KeyMode::kRaw), painter_(is_dumb_terminal()) {}

TypedLine LineEditor::read(const std::string& prompt) { return edit(prompt, true); }

TypedLine LineEditor::ask(const std::string& prompt) {
  take_interrupt();
  // The rest of a paste that has begun belongs to the earlier keys.
  while (reader_.in_paste() && !is_closed_) {
    wait_for_bytes();
    take_interrupt();
  }
  return edit(prompt, false);
}

bool LineEditor::take_interrupt() {
  bool is_interrupted = false;
  read_waiting_bytes();
  while (auto event = reader_.next()) {
    if (event->key == Key::kInterrupt) {
      is_interrupted = true;
    } else if (event->key == Key::kSuspend) {
      TerminalMode::suspend();
    } else if (event->key == Key::kText && !earlier_.empty() && earlier_.back().key == Key::kText) {
      earlier_.back().text += event->text;
    } else {
      earlier_.push_back(std::move(*event));
    }
  }
  return is_interrupted;
}

TypedLine LineEditor::edit(const std::string& prompt, bool uses_earlier_keys) {
  prompt_ = prompt;
  buffer_.clear();
  recall_.restart();
  times_continued_ = TerminalMode::times_continued();
  for (;;) {
    std::string typed;  // inserted at once: a long text is moved once
    while (auto event = take_event(uses_earlier_keys)) {
      if (event->key == Key::kText && !search_) {
        typed += event->text;
        continue;
      }
      insert(std::exchange(typed, {}), InputSource::kTyped);
      if (const auto end = apply(*event)) return finish(*end);
    }
    insert(typed, InputSource::kTyped);
    if (is_closed_) return finish(LineEnd::kClosed);
    show();
    wait_for_bytes();
  }
}

std::optional<KeyEvent> LineEditor::take_event(bool uses_earlier_keys) {
  if (!uses_earlier_keys || earlier_.empty()) return reader_.next();
  KeyEvent event = std::move(earlier_.front());
  earlier_.pop_front();
  return event;
}

/// Waits until bytes have come, or time ends a key. Errors: Interrupted.
void LineEditor::wait_for_bytes() {
  for (int waited_ms = 0;;) {
    if (interrupted()) write_stdout(painter_.finish());
    interruption_point();
    const int wait_ms = reader_.is_waiting() ? kKeyMs : kTickMs;
    if (read_bytes(wait_ms)) break;
    if (is_closed_) return;
    if (reader_.is_waiting()) return reader_.end_key();
    waited_ms += wait_ms;
    if (waited_ms >= kPasteStallsMs && reader_.in_paste()) reader_.mark_pause();
    if (!reader_.in_paste()) show();
  }
  read_waiting_bytes();
}

void LineEditor::read_waiting_bytes() {
  for (int reads = 0; reads < kReadsMax && read_bytes(0); ++reads) {
  }
}

/// Reads what has come, or comes within `wait_ms`. Returns whether there were bytes.
bool LineEditor::read_bytes(int wait_ms) {
  pollfd fd{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  if (is_closed_ || poll(&fd, 1, wait_ms) <= 0) return false;
  std::array<char, 1 << 16> bytes;
  const ssize_t n = ::read(STDIN_FILENO, bytes.data(), bytes.size());
  is_closed_ = n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN);
  if (n <= 0) return false;
  reader_.add({bytes.data(), to_size(n)});
  return true;
}

std::optional<LineEnd> LineEditor::apply(const KeyEvent& event) {
  if (search_ && apply_search(event)) return std::nullopt;
  switch (event.key) {
    case Key::kEnter:
      return LineEnd::kEnter;
    case Key::kInterrupt:
      return LineEnd::kInterrupt;
    case Key::kClose:
      if (buffer_.is_empty()) return LineEnd::kClosed;
      buffer_.erase_right();
      break;
    case Key::kText:
      insert(event.text, InputSource::kTyped);
      break;
    case Key::kPaste:
      insert(event.text, InputSource::kPasted);
      break;
    case Key::kPasteTooLong:
      refuse_length();
      break;
    case Key::kSuspend:
      suspend();
      break;
    case Key::kUp:
      if (!buffer_.line_up()) recall(recall_.older(buffer_.text()));
      break;
    case Key::kDown:
      if (!buffer_.line_down()) recall(recall_.newer());
      break;
    case Key::kSearch:
      search_ = Search{{}, buffer_};
      break;
    default:
      apply_editing(event);
  }
  return std::nullopt;
}

void LineEditor::apply_editing(const KeyEvent& event) {
  switch (event.key) {
    case Key::kLeft:
      return buffer_.left();
    case Key::kRight:
      return buffer_.right();
    case Key::kHome:
      return buffer_.line_start();
    case Key::kEnd:
      return buffer_.line_end();
    case Key::kBackspace:
      return buffer_.erase_left();
    case Key::kDelete:
      return buffer_.erase_right();
    case Key::kKillToEnd:
      return buffer_.kill_to_end();
    case Key::kKillToStart:
      return buffer_.kill_to_start();
    case Key::kKillWord:
      return buffer_.kill_word();
    case Key::kYank:
      if (!buffer_.yank()) refuse_length();
      return;
    case Key::kTranspose:
      return buffer_.transpose();
    case Key::kRedraw:
      return write_stdout(painter_.clear_screen());
    default:
      return;
  }
}

/// Applies a key to the search. Returns false if the key ends the search and acts on the text.
bool LineEditor::apply_search(const KeyEvent& event) {
  Search& search = *search_;
  std::optional<std::string> found;
  if (event.key == Key::kText) {
    search.part += event.text;
    found = recall_.search(search.part, true);
  } else if (event.key == Key::kSearch) {
    found = recall_.search(search.part, false);
  } else if (event.key == Key::kBackspace) {
    while (!search.part.empty() && (search.part.back() & 0xc0) == 0x80) search.part.pop_back();
    if (!search.part.empty()) search.part.pop_back();
    recall_.restart();
    found = recall_.search(search.part, true);
  } else if (event.key == Key::kCancel || event.key == Key::kInterrupt) {
    buffer_ = std::move(search.before);
    recall_.restart();
    search_.reset();
    return true;
  } else {
    search_.reset();
    return false;
  }
  recall(found);
  return true;
}

void LineEditor::insert(const std::string& text, InputSource source) {
  if (!buffer_.insert(text, source)) refuse_length();
}

/// Shows an earlier message. One of several lines is text, as it was sent.
void LineEditor::recall(const std::optional<std::string>& message) {
  if (!message) return;
  buffer_.clear();
  const bool has_lines = message->find('\n') != std::string::npos;
  insert(*message, has_lines ? InputSource::kPasted : InputSource::kTyped);
}

void LineEditor::refuse_length() {
  leave_text();
  log_warning(cat("a message has at most ", EditBuffer::kSizeMax >> 20,
                  " MiB: this text was not inserted"));
}

void LineEditor::suspend() {
  leave_text();
  TerminalMode::suspend();
}

/// Shows the text, and moves behind it: other output follows.
void LineEditor::leave_text() {
  show();
  write_stdout(painter_.finish());
}

void LineEditor::show() {
  if (std::exchange(times_continued_, TerminalMode::times_continued()) != times_continued_) {
    painter_.forget();
    write_stdout("\r");
  }
  std::u32string text = decode_all(search_ ? cat("(search: ", search_->part, ") ") : prompt_);
  const std::size_t cursor = text.size() + buffer_.cursor();
  text += buffer_.code_points();
  write_stdout(painter_.show(text, cursor, screen_size(STDOUT_FILENO)));
}

TypedLine LineEditor::finish(LineEnd end) {
  search_.reset();
  buffer_.text_end();
  leave_text();
  TypedLine line{.end = end, .was_empty = buffer_.is_empty()};
  if (end != LineEnd::kEnter) return line;
  line.text = buffer_.text();
  line.typed_front = buffer_.typed_front();
  line.typed_back = buffer_.typed_back();
  return line;
}

}  // namespace ingot
