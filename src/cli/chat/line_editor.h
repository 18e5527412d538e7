// LineEditor: reads lines from a terminal, with editing and history.
#pragma once

#include <cwchar>
#include <string>

struct editline;
struct history;

namespace ingot {

/// How the user ended a line.
enum class LineEnd {
  kEnter,
  kInterrupt,  ///< Ctrl-C: LineEditor drops the typed text
  kClosed,     ///< Ctrl-D on an empty line, or the terminal is gone
};

/// A line without its line break.
struct TypedLine {
  LineEnd end = LineEnd::kEnter;
  std::string text;
  bool was_empty = false;  ///< true: the user typed no text
};

/// Reads lines from stdin, and echoes to stdout. Both must be terminals. Only one editor may exist.
class LineEditor {
 public:
  /// Opens the editor. Errors: Error{kInternal} if the terminal cannot be used.
  LineEditor();
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  /// Reads a line. Ctrl-C ends the line and sends no signal. Errors: Interrupted for other signals.
  TypedLine read(const std::string& prompt);
  /// Adds a line to the history that the arrow keys show.
  void remember(const std::string& line);

 private:
  static unsigned char stop_line(editline* editor, std::wint_t key);
  static unsigned char suspend(editline* editor, std::wint_t key);
  static char* show_prompt(editline* editor);

  editline* editor_ = nullptr;
  history* history_ = nullptr;
  std::string prompt_;
  bool stopped_ = false;
  bool was_empty_ = false;
};

}  // namespace ingot
