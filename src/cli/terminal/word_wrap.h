// WordWrap: breaks streamed text between words where a terminal's line is full.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ingot {

/// Text that appears piece by piece, from the start of a line on. A word that does not fit into the
/// line moves to the next line, also if its beginning is on the screen. The terminal itself breaks
/// longer words, code between lines of ``` or ~~~, and rows of tables, so that copies of them have
/// no additional line breaks.
class WordWrap {
 public:
  /// Returns what to write for the next piece of text: valid UTF-8 without control characters
  /// except newline and tab. `columns`: the width of the terminal now.
  std::string add(std::string_view text, std::size_t columns);
  /// Tells that other text may be on the screen. Does not wrap the rest of the line.
  void lose_place() { is_lost_ = true; }

 private:
  void add_character(std::string& out, std::string_view text, char32_t code);
  void end_line(std::string& out);
  void look_at_line_start(char32_t code);
  void add_verbatim(std::string& out, std::string_view text, std::size_t width);
  void add_blank(std::string& out, std::string_view text, std::size_t width);
  void move_by_tab();
  void add_to_word(std::string& out, std::string_view text, std::size_t width);
  void overflow(std::string& out, std::string_view text, std::size_t width);

  std::size_t columns_ = 0;
  std::size_t column_ = 0;          ///< columns_: the line is full
  std::string word_;                ///< the word so far; empty where the line may break
  std::size_t word_column_ = 0;     ///< where `word_` begins
  bool is_after_wide_ = false;      ///< the line may break, unless a closing mark comes
  bool has_dropped_blank_ = false;  ///< a blank behind a full line: the next word begins a line
  bool is_lost_ = false;            ///< the cursor's column is unknown

  bool is_at_start_ = true;  ///< only blanks and marks of a fence came in this line
  std::size_t fence_marks_ = 0;
  char32_t mark_ = 0;         ///< the mark of the line's fence
  char32_t code_mark_ = 0;    ///< the mark of the fence that began a code block; 0 outside
  bool is_verbatim_ = false;  ///< a fence, or a row of a table
};

}  // namespace ingot
