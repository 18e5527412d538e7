// Adjacency: the pairs of neighbouring bytes in a vocabulary, to cut texts before BPE merging.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <string_view>

namespace ingot {

/// The pairs of neighbouring bytes in a set of pieces. BPE merging joins two bytes only if they
/// form one of these pairs. A cut between two bytes that form no pair changes no token. Short texts
/// merge faster.
class Adjacency {
 public:
  void add(std::string_view piece) {
    for (std::size_t i = 1; i < piece.size(); ++i) pairs_[index(piece[i - 1])].set(index(piece[i]));
  }
  /// Returns whether some piece contains `before` directly followed by `after`.
  bool joins(char before, char after) const { return pairs_[index(before)][index(after)]; }

 private:
  static std::size_t index(char c) { return static_cast<unsigned char>(c); }
  std::array<std::bitset<256>, 256> pairs_;
};

}  // namespace ingot
