// EditBuffer: moves, inserts and cuts by whole characters.
#include "cli/terminal/edit_buffer.h"

#include <algorithm>

#include "base/utf8.h"
#include "text/unicode/display_width.h"

namespace ingot {

namespace {

/// Above all code points.
constexpr char32_t kPastedBit = 0x80000000;

char32_t code_of(char32_t element) { return element & ~kPastedBit; }

/// Whether the code point belongs to the character before it.
bool joins(char32_t element) {
  const char32_t code = code_of(element);
  return code >= 0x300 && display_width(code) == 0;
}

std::u32string decode(std::string_view text, InputSource source) {
  const char32_t bit = source == InputSource::kPasted ? kPastedBit : 0;
  std::u32string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Char c = decode_utf8(text);
    out += c.code | bit;
    text.remove_prefix(c.size);
  }
  return out;
}

std::string encode(std::u32string_view elements) {
  std::string out;
  for (const char32_t element : elements) append_utf8(out, code_of(element));
  return out;
}

/// The size of the elements as UTF-8.
std::size_t bytes_of(std::u32string_view elements) {
  std::size_t bytes = 0;
  for (const char32_t element : elements) {
    const char32_t code = code_of(element);
    bytes += std::size_t{1} + (code >= 0x80) + (code >= 0x800) + (code >= 0x10000);
  }
  return bytes;
}

bool is_pasted(char32_t element) { return (element & kPastedBit) != 0; }
bool is_break(char32_t element) { return code_of(element) == U'\n'; }
bool is_blank(char32_t element) {
  const char32_t code = code_of(element);
  return code == U' ' || code == U'\t' || code == U'\n';
}

}  // namespace

std::u32string EditBuffer::code_points() const {
  std::u32string codes = text_;
  for (char32_t& c : codes) c = code_of(c);
  return codes;
}

std::string EditBuffer::text() const { return encode(text_); }

std::size_t EditBuffer::typed_front() const {
  const auto end = std::find_if(text_.begin(), text_.end(), is_pasted);
  return encode({text_.begin(), end}).size();
}

std::size_t EditBuffer::typed_back() const {
  const auto begin = std::find_if(text_.rbegin(), text_.rend(), is_pasted).base();
  return encode({begin, text_.end()}).size();
}

bool EditBuffer::insert(std::string_view text, InputSource source) {
  return insert(decode(text, source));
}

bool EditBuffer::insert(const std::u32string& elements) {
  const std::size_t bytes = bytes_of(elements);
  if (bytes > kBytesMax - bytes_) return false;
  text_.insert(cursor_, elements);
  cursor_ += elements.size();
  bytes_ += bytes;
  return true;
}

void EditBuffer::clear() {
  text_.clear();
  cursor_ = bytes_ = 0;
}

void EditBuffer::copy_text(const EditBuffer& other) {
  text_ = other.text_;
  cursor_ = other.cursor_;
  bytes_ = other.bytes_;
}

std::size_t EditBuffer::before(std::size_t index) const {
  if (index > 0) --index;
  while (index > 0 && joins(text_[index])) --index;
  return index;
}

std::size_t EditBuffer::behind(std::size_t index) const {
  if (index < text_.size()) ++index;
  while (index < text_.size() && joins(text_[index])) ++index;
  return index;
}

std::size_t EditBuffer::start_of_line(std::size_t index) const {
  while (index > 0 && !is_break(text_[index - 1])) --index;
  return index;
}

std::size_t EditBuffer::end_of_line(std::size_t index) const {
  while (index < text_.size() && !is_break(text_[index])) ++index;
  return index;
}

void EditBuffer::left() { cursor_ = before(cursor_); }
void EditBuffer::right() { cursor_ = behind(cursor_); }
void EditBuffer::line_start() { cursor_ = start_of_line(cursor_); }
void EditBuffer::line_end() { cursor_ = end_of_line(cursor_); }

bool EditBuffer::line_up() {
  const std::size_t start = start_of_line(cursor_);
  if (start == 0) return false;
  const std::size_t above = start_of_line(start - 1);
  cursor_ = std::min(above + (cursor_ - start), start - 1);
  while (cursor_ > above && joins(text_[cursor_])) --cursor_;
  return true;
}

bool EditBuffer::line_down() {
  const std::size_t end = end_of_line(cursor_);
  if (end == text_.size()) return false;
  const std::size_t below = end + 1;
  cursor_ = std::min(below + (cursor_ - start_of_line(cursor_)), end_of_line(below));
  while (cursor_ > below && cursor_ < text_.size() && joins(text_[cursor_])) --cursor_;
  return true;
}

void EditBuffer::erase(std::size_t begin, std::size_t end) {
  bytes_ -= bytes_of(std::u32string_view(text_).substr(begin, end - begin));
  text_.erase(begin, end - begin);
  cursor_ = begin;
}

void EditBuffer::kill(std::size_t begin, std::size_t end) {
  if (begin == end) return;
  killed_ = text_.substr(begin, end - begin);
  erase(begin, end);
}

void EditBuffer::erase_left() { erase(before(cursor_), cursor_); }
void EditBuffer::erase_right() { erase(cursor_, behind(cursor_)); }
void EditBuffer::kill_to_end() { kill(cursor_, end_of_line(cursor_)); }
void EditBuffer::kill_to_start() { kill(start_of_line(cursor_), cursor_); }

void EditBuffer::kill_word() {
  std::size_t begin = cursor_;
  while (begin > 0 && is_blank(text_[begin - 1])) --begin;
  while (begin > 0 && !is_blank(text_[begin - 1])) --begin;
  kill(begin, cursor_);
}

bool EditBuffer::yank() { return insert(killed_); }

void EditBuffer::transpose() {
  const std::size_t middle = cursor_ == text_.size() ? before(cursor_) : cursor_;
  const std::size_t begin = before(middle);
  const std::size_t end = behind(middle);
  const auto at = [&](std::size_t i) { return text_.begin() + static_cast<std::ptrdiff_t>(i); };
  std::rotate(at(begin), at(middle), at(end));
  cursor_ = end;
}

}  // namespace ingot
