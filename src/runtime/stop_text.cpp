// An automaton over all stop strings, and the text that waits for its verdict.
#include "runtime/stop_text.h"

#include "base/check.h"

namespace ingot {

StopText::StopText(std::span<const std::string> stops) : nodes_(1) {
  for (const std::string& stop : stops) {
    INGOT_CHECK(!stop.empty(), "an empty stop string");
    insert(stop, static_cast<std::int32_t>(lengths_.size()));
    lengths_.push_back(std::ssize(stop));
  }
  link();
}

void StopText::insert(const std::string& text, std::int32_t stop) {
  std::int32_t at = 0;
  for (const char byte : text) {
    std::int32_t to = child(at, byte);
    if (to == kNone) {
      to = static_cast<std::int32_t>(nodes_.size());
      Node& parent = nodes_[static_cast<std::size_t>(at)];
      nodes_.push_back({.sibling = parent.child, .depth = parent.depth + 1, .byte = byte});
      nodes_[static_cast<std::size_t>(at)].child = to;
    }
    at = to;
  }
  std::int32_t& here = nodes_[static_cast<std::size_t>(at)].stop;
  if (here == kNone) here = stop;
}

/// Breadth first: a node's shorter ones are complete before it is reached.
void StopText::link() {
  std::vector<std::int32_t> order{0};
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::int32_t parent = order[i];
    std::int32_t at = nodes_[static_cast<std::size_t>(parent)].child;
    while (at != kNone) {
      Node& node = nodes_[static_cast<std::size_t>(at)];
      if (parent != 0) {
        node.shorter = next(nodes_[static_cast<std::size_t>(parent)].shorter, node.byte);
      }
      if (node.stop == kNone) node.stop = nodes_[static_cast<std::size_t>(node.shorter)].stop;
      order.push_back(at);
      at = node.sibling;
    }
  }
}

std::int32_t StopText::child(std::int32_t node, char byte) const {
  std::int32_t at = nodes_[static_cast<std::size_t>(node)].child;
  while (at != kNone && nodes_[static_cast<std::size_t>(at)].byte != byte) {
    at = nodes_[static_cast<std::size_t>(at)].sibling;
  }
  return at;
}

/// Where one more byte leads. Each step back to a shorter node undoes a byte that was added once.
std::int32_t StopText::next(std::int32_t node, char byte) const {
  for (;; node = nodes_[static_cast<std::size_t>(node)].shorter) {
    const std::int32_t to = child(node, byte);
    if (to != kNone) return to;
    if (node == 0) return 0;
  }
}

/// Whether no other stop string can start before the one that was found.
bool StopText::decided() const {
  const Node& node = nodes_[static_cast<std::size_t>(node_)];
  return found_ != kNone && seen_ - node.depth >= found_start_;
}

std::string StopText::add(std::string_view piece) {
  if (stopped_) return {};
  held_ += piece;
  for (const char byte : piece) {
    node_ = next(node_, byte);
    ++seen_;
    const std::int32_t stop = nodes_[static_cast<std::size_t>(node_)].stop;
    if (stop != kNone) {
      const std::int64_t start = seen_ - lengths_[static_cast<std::size_t>(stop)];
      if (found_ == kNone || start < found_start_) {
        found_ = stop;
        found_start_ = start;
      }
    }
    if (decided()) {
      stopped_ = true;
      return release(found_start_);
    }
  }
  return release(seen_ - nodes_[static_cast<std::size_t>(node_)].depth);
}

std::string StopText::finish() {
  stopped_ = found_ != kNone;
  return release(stopped_ ? found_start_ : seen_);
}

/// Shows the text up to `end`. What is shown is dropped when it is more than half of what is held,
/// so that each byte is moved once on average.
std::string StopText::release(std::int64_t end) {
  std::string released = held_.substr(static_cast<std::size_t>(released_ - base_),
                                      static_cast<std::size_t>(end - released_));
  released_ = end;
  if (2 * (released_ - base_) > std::ssize(held_)) {
    held_.erase(0, static_cast<std::size_t>(released_ - base_));
    base_ = released_;
  }
  return released;
}

}  // namespace ingot
