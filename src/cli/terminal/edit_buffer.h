// EditBuffer: the text that the user edits, and the cursor in it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ingot {

/// How text came into a buffer.
enum class InputSource { kTyped, kPasted };

/// A text with a cursor, in code points. Remembers for each whether it was typed or pasted. The
/// cursor never stands between a character and its combining marks.
class EditBuffer {
 public:
  static constexpr std::size_t kBytesMax = std::size_t{16} << 20;

  bool is_empty() const { return text_.empty(); }
  /// Returns the code points.
  std::u32string code_points() const;
  /// Returns the index of the code point behind the cursor.
  std::size_t cursor() const { return cursor_; }
  /// Returns the text as UTF-8.
  std::string text() const;
  /// Returns how many bytes of `text` before the first, or behind the last pasted one are typed.
  std::size_t typed_front() const;
  std::size_t typed_back() const;

  /// Inserts valid UTF-8 before the cursor. Returns false, and changes nothing, if the text would
  /// have more than kBytesMax bytes.
  [[nodiscard]] bool insert(std::string_view text, InputSource source);
  void clear();
  /// Takes the text and the cursor of another buffer, not its cut text.
  void copy_text(const EditBuffer& other);

  void left();
  void right();
  void line_start();
  void line_end();
  void text_end() { cursor_ = text_.size(); }
  /// Moves to the line above or below. Returns false in the first or last line.
  bool line_up();
  bool line_down();

  void erase_left();
  void erase_right();
  /// Cut text for `yank`: to the end or the start of the line, or the word before the cursor.
  void kill_to_end();
  void kill_to_start();
  void kill_word();
  bool yank();
  /// Swaps the characters around the cursor, and moves behind them.
  void transpose();

 private:
  std::size_t before(std::size_t index) const;
  std::size_t behind(std::size_t index) const;
  std::size_t start_of_line(std::size_t index) const;
  std::size_t end_of_line(std::size_t index) const;
  bool insert(const std::u32string& elements);
  void erase(std::size_t begin, std::size_t end);
  void kill(std::size_t begin, std::size_t end);

  std::u32string text_;  ///< a pasted code point has kPastedBit
  std::u32string killed_;
  std::size_t cursor_ = 0;
  std::size_t bytes_ = 0;  ///< the size of `text`
};

}  // namespace ingot
