// StopText: ends a text at its first stop string, and releases no part of that string.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// Searches one choice's text, piece by piece, for stop strings.
///
/// Releases text once it cannot be part of a stop string any more, and holds back the longest end
/// of the text that begins one. The text ends where the first stop string in it starts, however it
/// is cut into pieces. If a stop string is complete while an earlier start of another is still
/// open, the decision waits for the next bytes or the end of the text. If several start at one
/// place, the first that ends counts.
///
/// Time is linear in the text's bytes, memory in the stop strings' (Aho and Corasick, 1975). Stop
/// strings and pieces are UTF-8; if both are whole characters, so is the released text.
class StopText {
 public:
  /// `stops` has no empty string. Without stops every piece is released at once.
  explicit StopText(std::span<const std::string> stops = {});

  /// Adds a piece, which may be empty, and returns the released text: none after a stop.
  std::string add(std::string_view piece);
  /// The text has ended: decides open starts, and returns the held text, up to a stop string if
  /// there is one.
  std::string finish();

  /// Whether a stop string ended the text.
  bool stopped() const { return stopped_; }
  /// The index in `stops` of the string that ended the text (the first of equal ones); -1 if none
  /// did.
  std::int32_t stop() const { return stopped_ ? found_ : -1; }

 private:
  static constexpr std::int32_t kNone = -1;

  /// A beginning of stop strings: the bytes on the way from the root, node 0.
  struct Node {
    std::int32_t child = kNone;    ///< the first node that is one byte longer
    std::int32_t sibling = kNone;  ///< next child of the same parent; as many as stop strings
    std::int32_t shorter = 0;      ///< the longest other node that this one ends in
    std::int32_t depth = 0;        ///< bytes
    std::int32_t stop = kNone;     ///< the longest stop string that this one ends in
    char byte = 0;
  };

  void insert(const std::string& text, std::int32_t stop);
  void link();
  std::int32_t child(std::int32_t node, char byte) const;
  std::int32_t next(std::int32_t node, char byte) const;
  bool decided() const;
  std::string release(std::int64_t end);

  std::vector<Node> nodes_;
  std::vector<std::int64_t> lengths_;  ///< bytes of each stop string
  std::int32_t node_ = 0;              ///< the longest beginning that the text ends in
  std::int64_t seen_ = 0;              ///< bytes of the text
  std::int32_t found_ = kNone;         ///< the stop string with the earliest start so far
  std::int64_t found_start_ = 0;
  bool stopped_ = false;

  std::string held_;       ///< the text from `base_`; released up to `released_`
  std::int64_t base_ = 0;  ///< the byte of the text that `held_` begins with
  std::int64_t released_ = 0;
};

}  // namespace ingot
