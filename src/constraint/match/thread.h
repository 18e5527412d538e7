// Thread: one alternative of a text in progress: a stack of frames and the place of the next byte.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "constraint/grammar.h"
#include "constraint/match/arena.h"
#include "constraint/match/chars.h"

namespace ingot::match {

/// Ids in the arenas of a matcher. Id 0 is the empty stack, list, set or text.
using FrameId = std::uint32_t;
using TextId = std::uint32_t;
inline constexpr TextId kEmptyText = 1;  ///< the text without characters
using ListId = std::uint32_t;
using BitsId = std::uint32_t;

/// What begins next, instead of a node: the text behind the frame's current part.
inline constexpr NodeId kReturn = kNoNode;
/// What begins next, instead of a node: an item of the frame's array.
inline constexpr NodeId kItem = kNoNode - 1;
/// The node of a frame that stands for a set of frames: `extra` names them, and one of them
/// continues.
inline constexpr NodeId kAnyOf = kNoNode - 2;

/// An unfinished node below the place where a thread is.
struct Frame {
  FrameId parent = 0;
  NodeId node = 0;
  /// Sequence: next part; ordered Object: next property; unique Array: used contained values
  std::uint32_t next = 0;
  std::uint32_t count = 0;  ///< Repeat, Array, Object: parts, items or properties begun
  /// Array: contained items; Repeat: 1 behind a separator; Object: set of properties
  std::uint32_t extra = 0;
  ListId used = 0;  ///< unique Array: its values; Object: its other keys

  friend bool operator==(const Frame&, const Frame&) = default;
  std::uint64_t hash() const {
    const std::uint64_t a = mixed(std::uint64_t{parent} << 32 | node, next);
    return mixed(mixed(a, std::uint64_t{count} << 32 | extra), used);
  }
};

/// A decoded text that must be remembered: its last code point and what comes before.
struct TextNode {
  TextId before = 0;
  char32_t last = 0;
  std::uint32_t length = 0;

  friend bool operator==(const TextNode&, const TextNode&) = default;
  std::uint64_t hash() const { return mixed(std::uint64_t{before} << 32, last); }
};

/// A list of remembered texts: the newest and the list before.
struct ListNode {
  ListId before = 0;
  TextId text = 0;
  std::uint32_t length = 0;

  friend bool operator==(const ListNode&, const ListNode&) = default;
  std::uint64_t hash() const { return mixed(std::uint64_t{before} << 32, text); }
};

/// The place of a thread's next byte.
enum class Leaf : std::uint8_t {
  kStart,        ///< nothing: `node` begins
  kSpaceStart,   ///< one space or nothing, then `node` begins
  kTerminal,     ///< inside a Terminal
  kStringOpen,   ///< before a String's quote
  kString,       ///< inside a String
  kArrayOpen,    ///< before [
  kArrayFirst,   ///< behind [
  kArrayNext,    ///< behind an item
  kObjectOpen,   ///< before {
  kObjectFirst,  ///< behind {
  kObjectNext,   ///< behind a property
  kObjectComma,  ///< behind a comma
  kObjectKey,    ///< before the quote of a key
  kKey,          ///< inside a key
  kColon,        ///< behind a key; the value is `node`
};

/// An alternative. Equal threads allow equal texts.
struct Thread {
  Leaf leaf = Leaf::kStart;
  CharState chars{};
  FrameId frame = 0;        ///< its frame behind the leaf; an array or object: its own frame
  NodeId node = 0;          ///< the leaf's node
  std::int32_t state = 0;   ///< a state in the leaf's language
  TextId text = 0;          ///< the decoded text so far, if it must be remembered; else 0
  std::uint32_t count = 0;  ///< String: decoded characters; kKey: bytes of the declared names
  std::uint32_t low = 0;    ///< kKey: the declared names that still fit, [low, high) as sorted
  std::uint32_t high = 0;

  friend bool operator==(const Thread&, const Thread&) = default;
  std::uint64_t hash() const {
    std::uint64_t h = static_cast<std::uint64_t>(leaf) |
                      static_cast<std::uint64_t>(chars.phase) << 8 |
                      std::uint64_t{chars.left} << 16 | std::uint64_t{chars.size} << 24 |
                      std::uint64_t{chars.bits} << 32;
    h = mixed(h, std::uint64_t{frame} << 32 | node);
    h = mixed(h, std::uint64_t{static_cast<std::uint32_t>(state)} << 32 | text);
    h = mixed(h, std::uint64_t{low} << 32 | high);
    return mixed(h, count);
  }
};

}  // namespace ingot::match
