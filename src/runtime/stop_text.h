// StopText: ends a text at its first stop string, and shows none of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// Watches the text of one continuation, piece by piece, for stop strings.
///
/// Text is released once it cannot be part of a stop string any more: what is held back is the
/// longest end of the text that begins one. The text ends where the first stop string in it
/// starts, however it was cut into pieces. When one has been seen while an earlier start of another
/// is still open, the decision waits for the next bytes or the end of the text. Of strings that
/// start at the same place the one that ends first counts.
///
/// Time is linear in the text's bytes, memory in the stop strings' (Aho and Corasick, 1975). Stop
/// strings and pieces are UTF-8; if both are whole characters, so is what is released.
class StopText {
 public:
  /// `stops`: none empty. With none at all every piece is released at once.
  explicit StopText(std::span<const std::string> stops = {});

  /// Adds a piece, which may be empty, and releases text. After a stop none is any more.
  std::string add(std::string_view piece);
  /// The text has ended: decides what was open, and releases what was held unless it begins at a
  /// stop string.
  std::string finish();

  /// Whether a stop string ended the text.
  bool stopped() const { return stopped_; }
  /// Which one, as an index into `stops` (the first of equal ones); -1 before it stopped.
  std::int32_t stop() const { return stopped_ ? found_ : -1; }

 private:
  static constexpr std::int32_t kNone = -1;

  /// A beginning of stop strings: the bytes on the way from the root, node 0.
  struct Node {
    std::int32_t child = kNone;    ///< first of those one byte longer
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
  std::vector<std::int64_t> lengths_;  ///< of the stop strings
  std::int32_t node_ = 0;              ///< the longest beginning that the text ends in
  std::int64_t seen_ = 0;              ///< bytes of the text
  std::int32_t found_ = kNone;         ///< the stop string with the earliest start so far
  std::int64_t found_start_ = 0;
  bool stopped_ = false;

  std::string held_;       ///< the text from `base_`; released up to `released_`
  std::int64_t base_ = 0;  ///< so that what is shown is dropped now and then, not always
  std::int64_t released_ = 0;
};

}  // namespace ingot
