// WordWrap: keeps the last word, and writes it again in the next line if it does not fit.
#include "cli/terminal/word_wrap.h"

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"
#include "text/unicode/display_width.h"

namespace ingot {

namespace {

constexpr std::size_t kTabSize = 8;
constexpr std::size_t kFenceMarks = 3;

bool is_wrap_blank(char32_t code) { return code == U' ' || code == U'\t'; }

/// Characters that do not begin a line in Chinese and Japanese: closing marks and small signs.
bool stays_with_previous(char32_t code) {
  constexpr std::u32string_view kClosing =
      U"\u3001\u3002\u3005\u3009\u300b\u300d\u300f\u3011\u3015\u30fb\u30fc\uff01\uff09\uff0c\uff0e"
      U"\uff1a\uff1b\uff1f\uff3d\uff5d";
  return kClosing.find(code) != std::u32string_view::npos;
}

}  // namespace

std::string WordWrap::add(std::string_view text, std::size_t columns) {
  // The terminal breaks the line on the screen anew, or cuts it: the cursor's column is unknown.
  if (columns != columns_ && column_ > 0) is_lost_ = true;
  columns_ = std::max<std::size_t>(columns, 2);
  std::string out;
  while (!text.empty()) {
    const Utf8Char c = decode_utf8(text);
    add_character(out, text.substr(0, c.size), c.code);
    text.remove_prefix(c.size);
  }
  return out;
}

void WordWrap::add_character(std::string& out, std::string_view text, char32_t code) {
  if (code == U'\n') return end_line(out);
  look_at_line_start(code);
  const auto width = static_cast<std::size_t>(display_width(code));
  if (is_lost_ || is_verbatim_ || code_mark_ != 0) return add_verbatim(out, text, width);
  if (is_wrap_blank(code)) return add_blank(out, text, width);
  if (is_after_wide_ && width > 0 && !stays_with_previous(code)) word_.clear();
  if (width > 0) is_after_wide_ = width == 2;
  add_to_word(out, text, width);
}

void WordWrap::end_line(std::string& out) {
  if (fence_marks_ >= kFenceMarks && code_mark_ == 0) {
    code_mark_ = mark_;
  } else if (fence_marks_ >= kFenceMarks && code_mark_ == mark_) {
    code_mark_ = 0;
  }
  out += '\n';
  word_.clear();
  column_ = fence_marks_ = 0;
  is_at_start_ = true;
  is_after_wide_ = has_dropped_blank_ = is_lost_ = is_verbatim_ = false;
}

void WordWrap::look_at_line_start(char32_t code) {
  if (!is_at_start_ || (is_wrap_blank(code) && fence_marks_ == 0)) return;
  const bool is_mark = (code == U'`' || code == U'~') && (fence_marks_ == 0 || code == mark_);
  if (is_mark) mark_ = code;
  if (is_mark) ++fence_marks_;
  if (fence_marks_ >= kFenceMarks || code == U'|') is_verbatim_ = true;
  is_at_start_ = is_mark;
}

void WordWrap::add_verbatim(std::string& out, std::string_view text, std::size_t width) {
  out += text;
  word_.clear();
  if (text == "\t") return move_by_tab();
  column_ = column_ + width > columns_ ? width : column_ + width;
}

void WordWrap::add_blank(std::string& out, std::string_view text, std::size_t width) {
  word_.clear();
  is_after_wide_ = false;
  if (column_ == columns_) {
    has_dropped_blank_ = true;
    return;
  }
  out += text;
  if (text == "\t") return move_by_tab();
  column_ += width;
}

/// A tab moves to the last column at most.
void WordWrap::move_by_tab() {
  column_ = std::min(column_ + kTabSize - column_ % kTabSize, columns_ - 1);
}

void WordWrap::add_to_word(std::string& out, std::string_view text, std::size_t width) {
  if (has_dropped_blank_) {
    out += '\n';
    column_ = 0;
    has_dropped_blank_ = false;
  }
  if (column_ + width > columns_) return overflow(out, text, width);
  if (word_.empty()) word_column_ = column_;
  out += text;
  word_ += text;
  column_ += width;
}

/// Writes a character that does not fit into the line.
void WordWrap::overflow(std::string& out, std::string_view text, std::size_t width) {
  if (word_.empty() || word_column_ == 0) {
    out += text;  // the terminal breaks the line
    word_ = text;
    column_ = width;
  } else {
    const std::size_t size = column_ - word_column_;
    out += cat("\r\x1b[", word_column_, "C\x1b[K\n", word_, text);
    word_ += text;
    column_ = size + width;
  }
  word_column_ = 0;
}

}  // namespace ingot
