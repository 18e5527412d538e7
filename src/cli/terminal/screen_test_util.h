// TestScreen: what a terminal shows, for tests of what is written to it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "text/unicode/display_width.h"

namespace ingot {

/// A terminal that understands the sequences that ingot writes, and wraps as xterm does: the cursor
/// stays at the last column until another character comes.
class TestScreen {
 public:
  TestScreen(std::size_t columns, std::size_t rows)
      : columns_(columns), cells_(rows, std::vector<std::string>(columns, " ")) {}

  void write(std::string_view text) {
    while (!text.empty()) {
      const std::size_t size = text.front() == '\x1b' ? sequence(text) : character(text);
      text.remove_prefix(size);
    }
  }

  /// Writes text whose line breaks the system makes \r\n of.
  void write_lines(std::string_view text) {
    for (std::size_t end; (end = text.find('\n')) != std::string_view::npos;) {
      write(text.substr(0, end));
      write("\r\n");
      text.remove_prefix(end + 1);
    }
    write(text);
  }

  /// Returns the rows, without blanks at their ends and empty rows at the bottom.
  std::string text() const {
    std::string all;
    for (const auto& row : cells_) {
      std::string line;
      for (const std::string& cell : row) line += cell;
      line.erase(line.find_last_not_of(' ') + 1);
      all += line + "\n";
    }
    return all.erase(all.find_last_not_of('\n') + 1);
  }
  std::size_t row() const { return row_; }
  std::size_t column() const { return std::min(column_, columns_ - 1); }

 private:
  std::size_t sequence(std::string_view text) {
    std::size_t i = 2;
    while (i < text.size() && (text[i] == '?' || (text[i] >= '0' && text[i] <= '9'))) ++i;
    const std::size_t n =
        i == 2 ? 1 : std::strtoul(std::string(text.substr(2, i - 2)).c_str(), nullptr, 10);
    column_ = column();
    switch (text.at(i)) {
      case 'A':
        row_ -= std::min(row_, n);
        break;
      case 'B':
        row_ = std::min(row_ + n, cells_.size() - 1);
        break;
      case 'C':
        column_ = std::min(column_ + n, columns_ - 1);
        break;
      case 'J':
        for (std::size_t r = row_ + 1; r < cells_.size(); ++r) clear(r, 0);
        [[fallthrough]];
      case 'K':
        clear(row_, column_);
        break;
      default:
        ADD_FAILURE() << "an unknown sequence: " << testing::PrintToString(text.substr(0, i + 1));
    }
    return i + 1;
  }

  std::size_t character(std::string_view text) {
    const Utf8Char c = decode_utf8(text);
    const auto width = static_cast<std::size_t>(display_width(c.code));
    if (c.code == U'\r') {
      column_ = 0;
    } else if (c.code == U'\n') {
      line_feed();
    } else if (c.code == U'\t') {
      column_ = std::min((column_ / 8 + 1) * 8, columns_ - 1);
    } else if (width == 0) {
      EXPECT_GE(c.code, 0x300u) << "a control character";
      // A combining mark joins the last character, which a wide character's second half follows.
      std::size_t at = column_ - std::min<std::size_t>(column_, 1);
      while (at > 0 && cells_[row_][at].empty()) --at;
      cells_[row_][at] += text.substr(0, c.size);
    } else {
      if (column_ + width > columns_) {
        line_feed();
        column_ = 0;
      }
      cells_[row_][column_++] = text.substr(0, c.size);
      if (width == 2) cells_[row_][column_++].clear();
    }
    return c.size;
  }

  void line_feed() {
    if (row_ + 1 < cells_.size()) {
      ++row_;
      return;
    }
    cells_.erase(cells_.begin());
    cells_.emplace_back(columns_, " ");
  }

  void clear(std::size_t row, std::size_t from) {
    for (std::size_t c = from; c < columns_; ++c) cells_[row][c] = " ";
  }

  std::size_t columns_;
  std::vector<std::vector<std::string>> cells_;
  std::size_t row_ = 0;
  std::size_t column_ = 0;
};

}  // namespace ingot
