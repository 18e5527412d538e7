// LinePainter: shows the edited text on a terminal, in as few bytes as possible.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal/terminal_size.h"

namespace ingot {

/// Shows a text from the start of the cursor's row on. The system must make \r\n of \n. Rows break
/// where the terminal breaks them itself. If the text has more rows than the screen, shows the rows
/// around the cursor.
class LinePainter {
 public:
  /// `is_dumb`: the terminal knows no escape sequences; changed text is shown again below.
  explicit LinePainter(bool is_dumb) : is_dumb_(is_dumb) {}

  /// Returns the bytes that change the screen from the last shown text to this one. `cursor` is the
  /// index of the code point below the cursor. After a change of `size`, shows all text again.
  std::string show(std::u32string_view text, std::size_t cursor, ScreenSize size);
  /// Returns the bytes that move behind the text, to the start of a row, and forgets the text.
  std::string finish();
  /// Returns the bytes that clear the screen, and forgets the text.
  std::string clear_screen();
  /// Forgets the text, because the screen lost it. The cursor is at the start of a row.
  void forget();

 private:
  /// What the screen shows of one code point.
  struct Glyph {
    std::string text;
    std::size_t columns = 0;
    bool operator==(const Glyph&) const = default;
  };
  struct Row {
    std::vector<Glyph> glyphs{};
    std::size_t columns = 0;
    bool wraps = false;  ///< the terminal itself begins the next row
    bool operator==(const Row&) const = default;
  };
  struct Place {
    std::size_t row = 0;
    std::size_t column = 0;
  };
  /// The rows on the screen, and the place of the cursor in them.
  struct Frame {
    std::vector<Row> rows;
    Place cursor;
  };
  /// Where rows of the whole text begin, and the place of the cursor.
  struct Layout {
    std::vector<std::size_t> begins;
    Place cursor;
  };

  static Glyph make_glyph(char32_t code, std::size_t column, std::size_t columns);
  static bool fits(const Glyph& glyph, std::size_t column, std::size_t columns);
  static Layout lay_out(std::u32string_view text, std::size_t cursor, std::size_t columns);
  Frame make_frame(std::u32string_view text, std::size_t cursor);
  Row make_row(std::u32string_view text, std::size_t begin, std::size_t end) const;
  std::string clear_resized(ScreenSize size);
  std::string paint(const Frame& frame);
  std::string show_dumb(std::u32string_view text);
  std::string move_to(Place place);

  bool is_dumb_;
  ScreenSize size_;
  Frame frame_;
  std::u32string text_;  ///< the shown text; with `cursor_index_`, for a change of size
  std::size_t cursor_index_ = 0;
  std::size_t top_ = 0;  ///< the first shown row
  bool has_frame_ = false;
};

}  // namespace ingot
