// LineEditor: reads bytes, applies keys to the text, and shows the text.
#include "cli/terminal/line_editor.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/index.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/terminal/terminal_size.h"

namespace ingot {

namespace {

/// How often to look at signals that another thread handled, and at the terminal's size.
constexpr int kTickMs = 250;
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
  bool is_interrupted = take_interrupt();
  // The rest of a paste that has begun belongs to the earlier keys.
  while (reader_.in_paste() && !is_closed_ && !is_interrupted) {
    wait_for_bytes();
    is_interrupted = take_interrupt();
  }
  if (is_interrupted) return {.end = LineEnd::kInterrupt};
  return edit(prompt, false);
}

bool LineEditor::take_interrupt() {
  read_waiting_bytes();
  bool is_interrupted = take_complete_keys();
  while (reader_.is_waiting() && !is_closed_) {
    read_or_end_key();
    is_interrupted |= take_complete_keys();
  }
  return is_interrupted;
}

bool LineEditor::take_complete_keys() {
  bool is_interrupted = false;
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
  for (;;) {
    if (interrupted()) write_stdout(painter_.finish());
    interruption_point();
    const bool is_key = reader_.is_waiting();
    if (read_or_end_key()) break;
    if (is_key || is_closed_) return;
    if (!reader_.in_paste()) show();
  }
  read_waiting_bytes();
}

/// Waits for bytes. Ends a key that has begun if none come in time. Returns whether bytes came.
bool LineEditor::read_or_end_key() {
  const bool is_key = reader_.is_waiting();
  if (read_bytes(is_key ? static_cast<int>(KeyReader::kKeyTime.count()) : kTickMs)) return true;
  reader_.end_key(std::chrono::steady_clock::now());
  return false;
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
  reader_.add({bytes.data(), to_size(n)}, std::chrono::steady_clock::now());
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
      if (!buffer_.line_up()) recall_.older(buffer_);
      break;
    case Key::kDown:
      if (!buffer_.line_down()) recall_.newer(buffer_);
      break;
    case Key::kSearch:
      recall_.keep(buffer_);
      search_ = Search{{}, buffer_, recall_.place()};
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
  if (event.key == Key::kText) {
    search.part += event.text;
    recall_.search(search.part, true, buffer_);
  } else if (event.key == Key::kSearch) {
    recall_.search(search.part, false, buffer_);
  } else if (event.key == Key::kBackspace) {
    while (!search.part.empty() && (search.part.back() & 0xc0) == 0x80) search.part.pop_back();
    if (!search.part.empty()) search.part.pop_back();
    recall_.move_to_newest();
    recall_.search(search.part, true, buffer_);
  } else if (event.key == Key::kCancel || event.key == Key::kInterrupt) {
    buffer_.copy_text(search.before);
    recall_.move_to(search.place);
    search_.reset();
    return true;
  } else {
    search_.reset();
    return false;
  }
  return true;
}

void LineEditor::insert(const std::string& text, InputSource source) {
  if (!buffer_.insert(text, source)) refuse_length();
}

void LineEditor::refuse_length() {
  leave_text();
  write_stdout(cat("A message has at most ", EditBuffer::kBytesMax >> 20,
                   " MiB: this text was not inserted.\n"));
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
