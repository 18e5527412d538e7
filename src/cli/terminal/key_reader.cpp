// Splits a terminal's bytes: UTF-8, control keys, escape sequences (ECMA-48, xterm) and pastes.
#include "cli/terminal/key_reader.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace ingot {

namespace {

constexpr char kEsc = '\x1b';
constexpr std::string_view kPasteBegin = "\x1b[200~";
constexpr std::string_view kPasteEnd = "\x1b[201~";
/// Longer sequences are no keys: keys have at most some ten bytes, replies of terminals some 100.
constexpr std::size_t kCsiBytesMax = 64;
constexpr std::size_t kStringBytesMax = 4096;
/// Bytes behind ESC [ M of a mouse report: button, column, row.
constexpr std::size_t kMouseBytes = 3;

bool is_control(char c) { return (c >= 0 && c < ' ') || c == '\x7f'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::optional<KeyEvent> control_event(char c) {
  switch (c) {
    case '\x01':
      return KeyEvent{Key::kHome};
    case '\x02':
      return KeyEvent{Key::kLeft};
    case '\x03':
      return KeyEvent{Key::kInterrupt};
    case '\x04':
      return KeyEvent{Key::kClose};
    case '\x05':
      return KeyEvent{Key::kEnd};
    case '\x06':
      return KeyEvent{Key::kRight};
    case '\x07':
      return KeyEvent{Key::kCancel};
    case '\x08':
    case '\x7f':
      return KeyEvent{Key::kBackspace};
    case '\t':
      return KeyEvent{Key::kText, "\t"};
    case '\n':
    case '\r':
      return KeyEvent{Key::kEnter};
    case '\x0b':
      return KeyEvent{Key::kKillToEnd};
    case '\x0c':
      return KeyEvent{Key::kRedraw};
    case '\x0e':
      return KeyEvent{Key::kDown};
    case '\x10':
      return KeyEvent{Key::kUp};
    case '\x12':
      return KeyEvent{Key::kSearch};
    case '\x14':
      return KeyEvent{Key::kTranspose};
    case '\x15':
      return KeyEvent{Key::kKillToStart};
    case '\x17':
      return KeyEvent{Key::kKillWord};
    case '\x19':
      return KeyEvent{Key::kYank};
    case '\x1a':
      return KeyEvent{Key::kSuspend};
    default:
      return std::nullopt;
  }
}

/// The key of the last byte of ESC [ x and ESC O x.
std::optional<KeyEvent> cursor_event(char last) {
  switch (last) {
    case 'A':
      return KeyEvent{Key::kUp};
    case 'B':
      return KeyEvent{Key::kDown};
    case 'C':
      return KeyEvent{Key::kRight};
    case 'D':
      return KeyEvent{Key::kLeft};
    case 'H':
      return KeyEvent{Key::kHome};
    case 'F':
      return KeyEvent{Key::kEnd};
    default:
      return std::nullopt;
  }
}

/// The key of ESC [ number ~.
std::optional<KeyEvent> numbered_event(std::string_view number) {
  if (number == "1" || number == "7") return KeyEvent{Key::kHome};
  if (number == "4" || number == "8") return KeyEvent{Key::kEnd};
  if (number == "3") return KeyEvent{Key::kDelete};
  return std::nullopt;
}

/// Terminals send \r for a line break in a paste; some send what the text had.
std::string with_line_feeds(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      out += text[i];
    } else if (i + 1 == text.size() || text[i + 1] != '\n') {
      out += '\n';
    }
  }
  return out;
}

}  // namespace

void KeyReader::add(std::string_view bytes, Time now) {
  bytes_.erase(0, std::exchange(at_, 0));
  const bool has_paused = now - std::exchange(last_byte_, now) >= kPasteStall;
  if (has_paused && in_paste_ && bytes == "\x03") paste_size_ = bytes_.size();
  bytes_ += bytes;
}

void KeyReader::drop(std::size_t bytes) { at_ += bytes; }

std::optional<KeyEvent> KeyReader::next() {
  for (;;) {
    if (in_paste_) return next_of_paste();
    if (at_ == bytes_.size()) return std::nullopt;
    Piece piece = parse(rest());
    if (piece.size == 0) return std::nullopt;
    drop(piece.size);
    is_cut_ = false;
    in_paste_ = piece.begins_paste;
    if (piece.event) return std::move(piece.event);
  }
}

void KeyReader::end_key(Time now) {
  if (!is_waiting() || now - last_byte_ < kKeyTime) return;
  if (rest().front() == kEsc && !is_quoted_) {
    drop(rest().size());
  } else {
    is_cut_ = true;
  }
}

std::optional<KeyEvent> KeyReader::next_of_paste() {
  const std::size_t end = rest().find(kPasteEnd, searched_);
  if (end != std::string_view::npos) {
    KeyEvent event = take_paste(end);
    drop(kPasteEnd.size());
    return event;
  }
  if (paste_size_) return take_paste(*paste_size_);
  // The last bytes may begin the paste's end.
  searched_ = std::max(rest().size(), kPasteEnd.size()) - kPasteEnd.size();
  if (is_too_long_ || searched_ > kPasteBytesMax) {
    is_too_long_ = true;
    drop(searched_);
    searched_ = 0;
  }
  return std::nullopt;
}

/// Ends the paste whose text is the next `bytes` bytes.
KeyEvent KeyReader::take_paste(std::size_t bytes) {
  KeyEvent event{Key::kPasteTooLong};
  if (!is_too_long_ && bytes <= kPasteBytesMax) {
    event = {Key::kPaste, to_valid_utf8(with_line_feeds(rest().substr(0, bytes)))};
  }
  drop(bytes);
  searched_ = 0;
  in_paste_ = is_too_long_ = false;
  paste_size_.reset();
  return event;
}

KeyReader::Piece KeyReader::parse(std::string_view rest) {
  const char first = rest.front();
  if (is_quoted_ && !rest.starts_with(kPasteBegin)) {
    if (!is_cut_ && kPasteBegin.starts_with(rest)) return {};
    Piece piece = parse_character(rest);
    is_quoted_ = piece.size == 0;
    return piece;
  }
  is_quoted_ = false;  // a paste is text without quotes
  if (first == kEsc) return parse_escape(rest);
  if (first == '\x16') {  // Ctrl-V
    is_quoted_ = true;
    return {.size = 1};
  }
  if (is_control(first)) return {.size = 1, .event = control_event(first)};
  return parse_character(rest);
}

KeyReader::Piece KeyReader::parse_character(std::string_view rest) const {
  const Utf8Char c = decode_utf8(rest);
  if (c.valid)
    return {.size = c.size, .event = KeyEvent{Key::kText, std::string(rest.substr(0, c.size))}};
  if (!is_cut_ && incomplete_utf8_tail(rest) == rest.size()) return {};
  return {.size = c.size, .event = KeyEvent{Key::kText, "\xef\xbf\xbd"}};
}

KeyReader::Piece KeyReader::parse_escape(std::string_view rest) {
  if (rest.size() == 1) return {};
  const char second = rest[1];
  if (second == '[') return parse_csi(rest);
  if (second == 'O') return parse_ss3(rest);
  if (second == ']' || second == 'P') return parse_string(rest);
  if (second == kEsc) {  // Alt and a key; of many ESC, each but the last two stands alone
    if (rest.size() == 2) return {};
    if (rest[2] == kEsc) return {.size = 1};
    const Piece key = parse_escape(rest.substr(1));
    return {.size = key.size > 0 ? key.size + 1 : 0, .begins_paste = key.begins_paste};
  }
  const bool is_alt = std::string_view("\t\n\r\b\x7f").find(second) != std::string_view::npos;
  if (is_control(second)) return {.size = is_alt ? std::size_t{2} : 1};
  const Utf8Char c = decode_utf8(rest.substr(1));
  if (c.valid) return {.size = 1 + c.size};
  if (incomplete_utf8_tail(rest.substr(1)) == rest.size() - 1) return {};
  return {.size = 1};
}

/// ESC [ parameters intermediates last. A byte that cannot belong to it ends it.
KeyReader::Piece KeyReader::parse_csi(std::string_view rest) {
  std::size_t i = 2;
  while (i < rest.size() && rest[i] >= 0x30 && rest[i] <= 0x3f && i < kCsiBytesMax) ++i;
  const std::string_view parameters = rest.substr(2, i - 2);
  const bool is_number =
      !parameters.empty() && std::all_of(parameters.begin(), parameters.end(), is_digit);
  if (i < rest.size() && rest[i] == '$' && is_number) return {.size = i + 1};  // rxvt: Shift
  while (i < rest.size() && rest[i] >= 0x20 && rest[i] <= 0x2f && i < kCsiBytesMax) ++i;
  if (i == rest.size()) return {};
  const char last = rest[i];
  if (last < 0x40 || last == 0x7f) return {.size = i};
  const std::size_t size = i + 1;
  const bool is_bare = size == 3;
  if (is_bare && last == '[') {  // the Linux console: ESC [ [ A is F1
    if (rest.size() == size) return {};
    return {.size = is_control(rest[size]) || rest[size] < 0 ? size : size + 1};
  }
  if (is_bare && last == 'M') {
    const auto begin = rest.begin() + static_cast<std::ptrdiff_t>(size);
    const auto length = std::min(kMouseBytes, rest.size() - size);
    const auto end = begin + static_cast<std::ptrdiff_t>(length);
    const auto control = std::find_if(begin, end, is_control);
    if (control == end && length < kMouseBytes) return {};
    return {.size = static_cast<std::size_t>(control - rest.begin())};
  }
  if (size > 3 + parameters.size()) return {.size = size};
  if (last == '~' && parameters == "200") return {.size = size, .begins_paste = true};
  if (last == '~') return {.size = size, .event = numbered_event(parameters)};
  if (is_bare || parameters == "1") return {.size = size, .event = cursor_event(last)};
  return {.size = size};
}

/// ESC O last, in some terminals with a modifier's number before the last byte.
KeyReader::Piece KeyReader::parse_ss3(std::string_view rest) {
  std::size_t i = 2;
  while (i < rest.size() && (is_digit(rest[i]) || rest[i] == ';') && i < kCsiBytesMax) ++i;
  if (i == rest.size()) return {};
  if (rest[i] < 0x40 || rest[i] == 0x7f) return {.size = i};
  if (i > 2) return {.size = i + 1};
  if (rest[i] == 'M') return {.size = 3, .event = KeyEvent{Key::kEnter}};  // the keypad's
  return {.size = 3, .event = cursor_event(rest[i])};
}

/// Replies of terminals: ESC ] number text end, and ESC P text end. Without a reply's first byte it
/// is Alt and a key.
KeyReader::Piece KeyReader::parse_string(std::string_view rest) {
  if (rest.size() == 2) return {};
  const bool is_reply = is_digit(rest[2]) || (rest[1] == 'P' && (rest[2] == '>' || rest[2] == '!'));
  if (!is_reply) return {.size = 2};
  const auto end = std::find_if(rest.begin() + 2, rest.end(), is_control);
  const auto size = static_cast<std::size_t>(end - rest.begin());
  if (size > kStringBytesMax) return {.size = kStringBytesMax};
  if (end == rest.end()) return {};
  if (*end == '\a') return {.size = size + 1};
  if (*end != kEsc) return {.size = size};
  if (size + 1 == rest.size()) return {};
  return {.size = rest[size + 1] == '\\' ? size + 2 : size};
}

}  // namespace ingot
