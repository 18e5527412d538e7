// KeyReader: the bytes of a terminal as keys, typed text and pastes.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ingot {

/// What the user did.
enum class Key {
  kText,          ///< typed one character: `text`
  kPaste,         ///< pasted `text`; its line breaks are \n
  kPasteTooLong,  ///< pasted more than kPasteBytesMax bytes, which are dropped
  kEnter,
  kInterrupt,  ///< Ctrl-C
  kClose,      ///< Ctrl-D
  kSuspend,    ///< Ctrl-Z
  kLeft,
  kRight,
  kUp,
  kDown,
  kHome,
  kEnd,
  kBackspace,
  kDelete,
  kKillToEnd,    ///< Ctrl-K
  kKillToStart,  ///< Ctrl-U
  kKillWord,     ///< Ctrl-W
  kYank,         ///< Ctrl-Y
  kTranspose,    ///< Ctrl-T
  kSearch,       ///< Ctrl-R
  kCancel,       ///< Ctrl-G
  kRedraw,       ///< Ctrl-L
};

/// A key, and the text that it typed or pasted.
struct KeyEvent {
  Key key = Key::kText;
  std::string text{};  ///< valid UTF-8; empty for keys without text
  bool operator==(const KeyEvent&) const = default;
};

/// Splits the bytes that a terminal in raw mode sends. Keys without a meaning here give no event:
/// function keys, keys with Alt or Ctrl, mouse reports, replies of the terminal. Bytes that are not
/// valid UTF-8 become U+FFFD. How the bytes are cut into pieces does not change the events.
class KeyReader {
 public:
  static constexpr std::size_t kPasteBytesMax = std::size_t{16} << 20;
  /// How long the rest of a key's bytes may take: longer than a slow line needs, shorter than
  /// people notice after ESC.
  static constexpr std::chrono::milliseconds kKeyTime{50};
  /// A paste whose bytes stop for this long can be ended with Ctrl-C, if its end was lost.
  static constexpr std::chrono::milliseconds kPasteStall{1000};
  using Time = std::chrono::steady_clock::time_point;

  /// Adds bytes that came at `now`. A single Ctrl-C after kPasteStall ends a begun paste before it.
  void add(std::string_view bytes, Time now);
  /// Returns the next event; nothing if more bytes are needed.
  std::optional<KeyEvent> next();
  /// Returns whether the bytes left after `next` begin a key. An ESC may be the whole key or the
  /// beginning of one: only the time that passes tells.
  bool is_waiting() const { return !in_paste_ && at_ < bytes_.size(); }
  /// Ends a begun key if its other bytes have not come within kKeyTime. Then `next` continues.
  void end_key(Time now);
  /// Returns whether a paste has begun and not ended.
  bool in_paste() const { return in_paste_; }

 private:
  struct Piece {
    std::size_t size = 0;  ///< 0: more bytes are needed
    std::optional<KeyEvent> event{};
    bool begins_paste = false;
  };
  std::string_view rest() const { return std::string_view(bytes_).substr(at_); }
  void drop(std::size_t bytes);
  Piece parse(std::string_view rest);
  Piece parse_character(std::string_view rest) const;
  static Piece parse_escape(std::string_view rest);
  static Piece parse_csi(std::string_view rest);
  static Piece parse_ss3(std::string_view rest);
  static Piece parse_string(std::string_view rest);
  std::optional<KeyEvent> next_of_paste();
  KeyEvent take_paste(std::size_t bytes);

  std::string bytes_;
  std::size_t at_ = 0;  ///< bytes before this index are read
  bool in_paste_ = false;
  Time last_byte_{};
  std::optional<std::size_t> paste_size_{};  ///< size of a paste whose end was lost
  bool is_too_long_ = false;                 ///< the paste's bytes are dropped
  std::size_t searched_ = 0;                 ///< bytes of `rest` that have no end of the paste
  bool is_quoted_ = false;                   ///< Ctrl-V came: the next character is text
  bool is_cut_ = false;                      ///< end_key ended an incomplete character
};

}  // namespace ingot
