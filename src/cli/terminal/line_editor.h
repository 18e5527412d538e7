// LineEditor: reads messages from a terminal, with editing and history.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "cli/terminal/edit_buffer.h"
#include "cli/terminal/key_reader.h"
#include "cli/terminal/line_painter.h"
#include "cli/terminal/line_recall.h"
#include "cli/terminal/terminal_mode.h"

namespace ingot {

/// How the user ended a line.
enum class LineEnd {
  kEnter,
  kInterrupt,  ///< Ctrl-C: LineEditor drops the typed text
  kClosed,     ///< Ctrl-D on an empty line, or the terminal is gone
};

/// What the user typed and pasted before Enter. Only pastes have line breaks.
struct TypedLine {
  LineEnd end = LineEnd::kEnter;
  std::string text{};           ///< valid UTF-8
  std::size_t typed_front = 0;  ///< bytes before the first pasted one
  std::size_t typed_back = 0;   ///< bytes behind the last pasted one
  bool was_empty = true;        ///< the user typed no text
};

/// Reads from stdin, and shows text on stdout. Both must be terminals. While an editor exists, the
/// terminal does not echo, and keys wait for the next `read`.
class LineEditor {
 public:
  LineEditor();

  /// Reads a line, first from keys that came before. Ctrl-C ends the line and sends no signal.
  /// Errors: Interrupted for signals; Error{kIo} if stdout cannot be written.
  TypedLine read(const std::string& prompt);
  /// Reads the answer to a question. Keys from before the question stay for `read`, except Ctrl-C,
  /// which answers it.
  TypedLine ask(const std::string& prompt);
  /// Takes the keys that have come; `read` gets them. Waits only for the rest of a key that has
  /// begun. Returns whether one of them was Ctrl-C. Ctrl-Z suspends the job at once.
  bool take_interrupt();
  /// Adds an earlier message, which the arrow keys show.
  void remember(std::string message) { recall_.add(std::move(message)); }

 private:
  /// A search under way: what was typed, and the text from before.
  struct Search {
    std::string part;
    EditBuffer before;
    std::size_t place = 0;  ///< in the earlier messages
  };

  TypedLine edit(const std::string& prompt, bool uses_earlier_keys);
  std::optional<KeyEvent> take_event(bool uses_earlier_keys);
  bool take_complete_keys();
  void wait_for_bytes();
  bool read_or_end_key();
  void read_waiting_bytes();
  bool read_bytes(int wait_ms);

  std::optional<LineEnd> apply(const KeyEvent& event);
  void apply_editing(const KeyEvent& event);
  bool apply_search(const KeyEvent& event);
  void insert(const std::string& text, InputSource source);
  void refuse_length();
  void suspend();
  void leave_text();
  void show();
  TypedLine finish(LineEnd end);

  TerminalMode mode_;
  KeyReader reader_;
  LinePainter painter_;
  LineRecall recall_;
  EditBuffer buffer_;
  std::deque<KeyEvent> earlier_;  ///< keys that came before `read`
  std::optional<Search> search_;
  std::string prompt_;
  int times_continued_ = 0;
  bool is_closed_ = false;  ///< the terminal is gone
};

}  // namespace ingot
