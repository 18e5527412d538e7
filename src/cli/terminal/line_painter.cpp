// LinePainter: lays text out in rows, and writes what differs from the rows on the screen.
#include "cli/terminal/line_painter.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "text/unicode/display_width.h"

namespace ingot {

namespace {

constexpr std::size_t kTabColumns = 8;

std::string repeat_move(std::size_t count, char direction) {
  return count == 0 ? std::string() : cat("\x1b[", count, direction);
}

}  // namespace

LinePainter::Glyph LinePainter::make_glyph(char32_t code, std::size_t column, std::size_t columns) {
  if (code == U'\t') {
    const std::size_t wanted = kTabColumns - column % kTabColumns;
    const std::size_t width = std::min(wanted, columns - std::min(column, columns - 1));
    return {std::string(width, ' '), width};
  }
  std::string text;
  append_utf8(text, code);
  if (is_harmless(code)) {
    const auto width = static_cast<std::size_t>(display_width(code));
    // A mark without a character gets the circle that Unicode's charts show.
    if (width == 0 && column == 0) return {"\u25cc" + text, 1};
    return {text, width};
  }
  if (code < 0x20 || code == 0x7f) {
    text = {'^', static_cast<char>(code ^ 0x40)};
  } else {
    text = printable(text);
  }
  if (text.size() > columns) text = "?";
  return {text, text.size()};
}

bool LinePainter::fits(const Glyph& glyph, std::size_t column, std::size_t columns) {
  return glyph.columns == 0 || column + glyph.columns <= columns;
}

LinePainter::Layout LinePainter::lay_out(std::u32string_view text, std::size_t cursor,
                                         std::size_t columns) {
  Layout layout{{0}, {}};
  std::size_t column = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char32_t code = text[i];
    const bool is_break = code == U'\n';
    const bool is_plain = code >= 0x20 && code < 0x7f;
    Glyph glyph;
    if (is_plain) glyph.columns = 1;
    if (!is_plain && !is_break) glyph = make_glyph(code, column, columns);
    if (!is_break && !fits(glyph, column, columns)) {
      layout.begins.push_back(i);
      column = 0;
      if (code == U'\t') glyph = make_glyph(code, column, columns);
    }
    if (i == cursor) layout.cursor = {layout.begins.size() - 1, std::min(column, columns - 1)};
    if (is_break) {
      layout.begins.push_back(i + 1);
      column = 0;
    }
    column += glyph.columns;
  }
  if (cursor < text.size()) return layout;
  if (column >= columns) {
    layout.begins.push_back(text.size());
    column = 0;
  }
  layout.cursor = {layout.begins.size() - 1, column};
  return layout;
}

/// The row of the code points from `begin` to before `end`, the next row's begin.
LinePainter::Row LinePainter::make_row(std::u32string_view text, std::size_t begin,
                                       std::size_t end) const {
  Row row;
  for (std::size_t i = begin; i < end; ++i) {
    if (text[i] == U'\n') return row;
    Glyph glyph = make_glyph(text[i], row.columns, size_.columns);
    row.columns += glyph.columns;
    row.glyphs.push_back(std::move(glyph));
  }
  const bool is_full = row.columns == size_.columns;
  const bool is_before_wide =
      end < text.size() && is_harmless(text[end]) && row.columns + 1 == size_.columns;
  row.wraps = is_full || is_before_wide;
  return row;
}

LinePainter::Frame LinePainter::make_frame(std::u32string_view text, std::size_t cursor) {
  const Layout layout = lay_out(text, cursor, size_.columns);
  const std::size_t count = layout.begins.size();
  const std::size_t most = count - std::min(count, size_.rows);
  const std::size_t least = layout.cursor.row + 1 - std::min(layout.cursor.row + 1, size_.rows);
  top_ = std::min({std::max(top_, least), layout.cursor.row, most});
  Frame frame;
  for (std::size_t r = top_; r < std::min(count, top_ + size_.rows); ++r) {
    const bool is_last = r + 1 == count;
    frame.rows.push_back(
        make_row(text, layout.begins[r], is_last ? text.size() : layout.begins[r + 1]));
    if (is_last) frame.rows.back().wraps = false;
  }
  frame.rows.back().wraps = false;  // no row follows on the screen
  frame.cursor = {layout.cursor.row - top_, layout.cursor.column};
  return frame;
}

std::string LinePainter::move_to(Place place) {
  const Place from = std::exchange(frame_.cursor, place);
  std::string out;
  if (from.row == place.row && from.column == place.column) return out;
  if (place.row < from.row) out += repeat_move(from.row - place.row, 'A');
  if (place.row > from.row) out += repeat_move(place.row - from.row, 'B');
  return cat(out, "\r", repeat_move(place.column, 'C'));
}

/// Writes the frame from the first glyph on that is not on the screen.
std::string LinePainter::paint(const Frame& frame) {
  const std::vector<Row>& old = frame_.rows;
  std::size_t r = 0;
  while (r < old.size() && r < frame.rows.size() && old[r] == frame.rows[r]) ++r;
  const bool is_shorter = r == frame.rows.size() && r < old.size();
  std::string out;
  if (r < frame.rows.size() || is_shorter) {
    // A row that ends where it was, or flows into the next, is written from its last glyph on.
    if (r == frame.rows.size() || r == old.size()) r -= r > 0;
    const Row& row = frame.rows[r];
    const Row none;
    const Row& before = r < old.size() ? old[r] : none;
    std::size_t g = 0;
    Place place{r, 0};
    while (g < before.glyphs.size() && g < row.glyphs.size() && before.glyphs[g] == row.glyphs[g]) {
      place.column += row.glyphs[g++].columns;
    }
    const auto joins = [&](const Row& of) {
      return g < of.glyphs.size() && of.glyphs[g].columns == 0;
    };
    while (g > 0 && (place.column == size_.columns || joins(row) || joins(before))) {
      place.column -= row.glyphs[--g].columns;
    }
    out += move_to(place);
    if (g < before.glyphs.size() || r + 1 < old.size()) out += "\x1b[J";
    for (; r < frame.rows.size(); ++r, g = 0) {
      const Row& next = frame.rows[r];
      for (std::size_t i = g; i < next.glyphs.size(); ++i) out += next.glyphs[i].text;
      place = {r, next.columns};
      if (r + 1 == frame.rows.size()) break;
      if (!next.wraps) {
        out += "\n";
      } else if (frame.rows[r + 1].glyphs.empty()) {
        out += " \r";  // makes the terminal begin the row
      }
    }
    frame_.cursor = place;
  }
  frame_.rows = frame.rows;
  return out + move_to(frame.cursor);
}

/// Removes the text from a screen that has a new size. Most terminals then break its rows anew, as
/// `lay_out` does.
std::string LinePainter::clear_resized(ScreenSize size) {
  const std::size_t row = lay_out(text_, cursor_index_, size.columns).cursor.row;
  std::string out = cat(repeat_move(std::min(row, size.rows - 1), 'A'), "\r\x1b[J");
  forget();
  return out;
}

std::string LinePainter::show(std::u32string_view text, std::size_t cursor, ScreenSize size) {
  // Two columns have a place for a wide character.
  size = {std::max<std::size_t>(size.columns, 2), std::max<std::size_t>(size.rows, 1)};
  if (is_dumb_) return show_dumb(text);
  std::string out;
  if (has_frame_ && size != size_) out = clear_resized(size);
  size_ = size;
  if (!has_frame_) frame_.rows = {Row{}};
  has_frame_ = true;
  out += paint(make_frame(text, cursor));
  text_ = text;
  cursor_index_ = cursor;
  return out;
}

std::string LinePainter::show_dumb(std::u32string_view text) {
  std::string out;
  if (!text.starts_with(text_)) {
    out = "\n";
    text_.clear();
  }
  for (const char32_t code : text.substr(text_.size())) {
    out += code == U'\n' ? "\n" : make_glyph(code, 0, size_.columns).text;
  }
  text_ = text;
  return out;
}

std::string LinePainter::finish() {
  std::string out;
  if (!is_dumb_ && has_frame_) {
    out =
        move_to({frame_.rows.size() - 1, std::min(frame_.rows.back().columns, size_.columns - 1)});
    // The cursor stands at the start of the row that a full row made.
    if (frame_.rows.size() > 1 && frame_.rows.back().glyphs.empty() &&
        frame_.rows[frame_.rows.size() - 2].wraps) {
      forget();
      return out;
    }
  }
  forget();
  return out + "\n";
}

std::string LinePainter::clear_screen() {
  if (is_dumb_) return {};
  forget();
  return "\x1b[H\x1b[2J";
}

void LinePainter::forget() {
  frame_ = {};
  text_.clear();
  top_ = 0;
  has_frame_ = false;
}

}  // namespace ingot
