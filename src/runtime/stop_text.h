// StopText: ends a text at its first stop string, before that string or behind it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// Where a stop string ends a text.
enum class StopEnd {
  kBefore,  ///< before the stop string
  kBehind,  ///< behind the stop string, which stays in the text
};

/// Searches one choice's text, piece by piece, for stop strings.
///
/// Holds back the longest end of the text that could begin a stop string, and releases all earlier
/// text. The text ends where its first stop string starts (or ends, with `StopEnd::kBehind`), no
/// matter where pieces end. If one stop string is complete but another with an earlier start may
/// still follow, StopText waits for more bytes or the text's end. If several stop strings start at
/// one byte, the shortest ends the text.
///
/// Time is linear in the text's bytes, memory in the stop strings' bytes (Aho and Corasick, 1975).
/// If stop strings and pieces consist of whole UTF-8 characters, the released text does too.
class StopText {
 public:
  /// `stops` must not contain an empty string. If `stops` is empty, `add` returns all text at once.
  explicit StopText(std::span<const std::string> stops = {}, StopEnd end = StopEnd::kBefore);

  /// Adds a piece, which may be empty. Returns the released text, which is empty after a stop. A
  /// stop string counts only if `may_stop` is true for the piece with its last byte.
  std::string add(std::string_view piece, bool may_stop = true);
  /// Ends the text, so that incomplete stop strings no longer count. Returns the text that was held
  /// back. If this text has a stop string, returns only the text up to the stop.
  std::string finish();

  /// Returns whether a stop string ended the text.
  bool stopped() const { return stopped_; }
  /// Returns the index in `stops` of the string that ended the text; -1 if no stop string ended it.
  /// If `stops` contains this string twice, returns the first index.
  std::int32_t stop() const { return stopped_ ? found_ : -1; }

 private:
  static constexpr std::int32_t kNone = -1;

  /// A node of a trie, for one prefix of stop strings. The root, node 0, is for the empty prefix.
  struct Node {
    std::int32_t child = kNone;    ///< first child; kNone if the node has no child
    std::int32_t sibling = kNone;  ///< next child of the same parent; kNone for the last child
    std::int32_t shorter = 0;      ///< node of the prefix's longest proper suffix that has a node
    std::int32_t depth = 0;        ///< length of the prefix in bytes
    std::int32_t stop = kNone;     ///< index of the longest stop string at the end of the prefix
    char byte = 0;                 ///< last byte of the prefix
  };

  void insert(const std::string& text, std::int32_t stop);
  void link();
  std::int32_t child(std::int32_t node, char byte) const;
  std::int32_t next(std::int32_t node, char byte) const;
  bool decided() const;
  std::int64_t stop_end() const;
  std::string release(std::int64_t end);

  StopEnd end_;
  std::vector<Node> nodes_;
  std::vector<std::int64_t> lengths_;  ///< length of each stop string in bytes
  std::int32_t node_ = 0;              ///< node of the longest prefix that the text ends with
  std::int64_t seen_ = 0;              ///< length of the text so far in bytes
  std::int32_t found_ = kNone;         ///< index of the stop string with the earliest start so far
  std::int64_t found_start_ = 0;       ///< byte offset in the text at which `found_` starts
  bool stopped_ = false;

  std::string held_;           ///< the end of the text, from byte `base_`
  std::int64_t base_ = 0;      ///< byte offset of `held_` in the text
  std::int64_t released_ = 0;  ///< byte offset up to which the text was released
};

}  // namespace ingot
