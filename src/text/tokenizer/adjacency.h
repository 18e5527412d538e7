// Adjacency: which bytes follow each other inside pieces. Elsewhere a text can be cut before
// merging.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <string_view>

namespace ingot {

/// The pairs of neighbouring bytes in a set of pieces. Merging never joins two bytes that are
/// neighbours in no piece. A cut between such bytes keeps the result and makes each merge small.
class Adjacency {
 public:
  void add(std::string_view piece) {
    for (std::size_t i = 1; i < piece.size(); ++i) pairs_[index(piece[i - 1])].set(index(piece[i]));
  }
  /// Whether some piece has `before` and `after` side by side.
  bool joins(char before, char after) const { return pairs_[index(before)][index(after)]; }

 private:
  static std::size_t index(char c) { return static_cast<unsigned char>(c); }
  std::array<std::bitset<256>, 256> pairs_;
};

}  // namespace ingot
