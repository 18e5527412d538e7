// StopText: an Aho-Corasick automaton over all stop strings, and the text that is held back.
#include "runtime/stop_text.h"

#include "base/check.h"
#include "base/index.h"

namespace ingot {

StopText::StopText(std::span<const std::string> stops, StopEnd end) : end_(end), nodes_(1) {
  for (const std::string& stop : stops) {
    INGOT_CHECK(!stop.empty(), "an empty stop string");
    insert(stop, static_cast<std::int32_t>(lengths_.size()));
    lengths_.push_back(std::ssize(stop));
  }
  link();
}

void StopText::insert(const std::string& text, std::int32_t stop) {
  std::int32_t node = 0;
  for (const char byte : text) {
    std::int32_t longer = child(node, byte);
    if (longer == kNone) {
      longer = static_cast<std::int32_t>(nodes_.size());
      const Node& parent = at(nodes_, node);
      nodes_.push_back({.sibling = parent.child, .depth = parent.depth + 1, .byte = byte});
      at(nodes_, node).child = longer;
    }
    node = longer;
  }
  std::int32_t& first = at(nodes_, node).stop;
  if (first == kNone) first = stop;
}

/// Sets `shorter` and `stop` of all nodes, breadth first, because they depend on shorter nodes.
void StopText::link() {
  std::vector<std::int32_t> order{0};
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::int32_t parent = order[i];
    for (std::int32_t n = at(nodes_, parent).child; n != kNone; n = at(nodes_, n).sibling) {
      Node& node = at(nodes_, n);
      if (parent != 0) node.shorter = next(at(nodes_, parent).shorter, node.byte);
      if (node.stop == kNone) node.stop = at(nodes_, node.shorter).stop;
      order.push_back(n);
    }
  }
}

std::int32_t StopText::child(std::int32_t node, char byte) const {
  std::int32_t n = at(nodes_, node).child;
  while (n != kNone && at(nodes_, n).byte != byte) n = at(nodes_, n).sibling;
  return n;
}

/// The node that one more byte leads to. Each move to a shorter node undoes an added byte or more.
std::int32_t StopText::next(std::int32_t node, char byte) const {
  for (;; node = at(nodes_, node).shorter) {
    const std::int32_t to = child(node, byte);
    if (to != kNone) return to;
    if (node == 0) return 0;
  }
}

/// Whether a stop string was found, and no other one can still be found with an earlier start.
bool StopText::decided() const {
  const Node& node = at(nodes_, node_);
  return found_ != kNone && seen_ - node.depth >= found_start_;
}

/// The byte offset at which the found stop string ends the text.
std::int64_t StopText::stop_end() const {
  return found_start_ + (end_ == StopEnd::kBehind ? at(lengths_, found_) : 0);
}

std::string StopText::add(std::string_view piece, bool may_stop) {
  if (stopped_) return {};
  held_ += piece;
  for (const char byte : piece) {
    node_ = next(node_, byte);
    ++seen_;
    const std::int32_t stop = at(nodes_, node_).stop;
    if (stop != kNone && may_stop) {
      const std::int64_t start = seen_ - at(lengths_, stop);
      if (found_ == kNone || start < found_start_) {
        found_ = stop;
        found_start_ = start;
      }
    }
    if (decided()) {
      stopped_ = true;
      return release(stop_end());
    }
  }
  return release(seen_ - at(nodes_, node_).depth);
}

std::string StopText::finish() {
  stopped_ = found_ != kNone;
  return release(stopped_ ? stop_end() : seen_);
}

/// Releases the text up to byte `end`. Erases released text only when it is more than half of
/// `held_`, so that each byte moves at most about once.
std::string StopText::release(std::int64_t end) {
  std::string released = held_.substr(to_size(released_ - base_), to_size(end - released_));
  released_ = end;
  if (2 * (released_ - base_) > std::ssize(held_)) {
    held_.erase(0, to_size(released_ - base_));
    base_ = released_;
  }
  return released;
}

}  // namespace ingot
