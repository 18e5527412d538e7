// Arena: gives equal values equal ids, and forgets the newest values again.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace ingot::match {

/// Mixes a word into a hash (the multiplier of splitmix64).
inline std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  std::uint64_t x = (hash ^ word) * 0xBF58476D1CE4E5B9u;
  return x ^ (x >> 29);
}

/// A hash table whose entries are numbered in the order in which they were added. It keeps their
/// hashes; the caller keeps and compares their values. Removal in reverse order restores the table
/// exactly.
class ChainTable {
 public:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  /// Returns the id of the entry with this hash that `equals` accepts, or kNone.
  template <class Equals>
  std::uint32_t find(std::uint64_t hash, const Equals& equals) const {
    if (heads_.empty()) return kNone;
    for (std::uint32_t id = heads_[hash & (heads_.size() - 1)]; id != kNone; id = links_[id].next) {
      if (links_[id].hash == hash && equals(id)) return id;
    }
    return kNone;
  }
  /// Adds the entry with the next id.
  std::uint32_t add(std::uint64_t hash) {
    if (links_.size() >= heads_.size()) grow();
    const auto id = static_cast<std::uint32_t>(links_.size());
    std::uint32_t& head = heads_[hash & (heads_.size() - 1)];
    links_.push_back({head, hash});
    head = id;
    return id;
  }
  /// Removes the entries from id `count` on.
  void shrink(std::uint32_t count) {
    while (links_.size() > count) {
      const Link& last = links_.back();
      heads_[last.hash & (heads_.size() - 1)] = last.next;
      links_.pop_back();
    }
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(links_.size()); }

 private:
  struct Link {
    std::uint32_t next;
    std::uint64_t hash;
  };
  void grow() {
    heads_.assign(heads_.empty() ? 16 : heads_.size() * 2, kNone);
    for (std::uint32_t id = 0; id < links_.size(); ++id) {
      std::uint32_t& head = heads_[links_[id].hash & (heads_.size() - 1)];
      links_[id].next = head;
      head = id;
    }
  }

  std::vector<std::uint32_t> heads_;
  std::vector<Link> links_;
};

/// Values by id. `Value` has operator== and `std::uint64_t hash() const`.
template <class Value>
class Arena {
 public:
  std::uint32_t intern(const Value& value) {
    const std::uint64_t hash = value.hash();
    const std::uint32_t found =
        table_.find(hash, [&](std::uint32_t id) { return values_[id] == value; });
    if (found != ChainTable::kNone) return found;
    values_.resize(table_.size());  // without what an `add` without memory left
    values_.push_back(value);
    return table_.add(hash);
  }
  const Value& operator[](std::uint32_t id) const { return values_[id]; }
  std::uint32_t size() const { return table_.size(); }
  /// Forgets the values from id `count` on.
  void shrink(std::uint32_t count) {
    table_.shrink(count);
    values_.resize(count);
  }

 private:
  ChainTable table_;
  std::vector<Value> values_;
};

}  // namespace ingot::match
