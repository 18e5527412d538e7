// Which bytes follow each other inside of pieces: between others a text can be cut before it is
// merged.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <string_view>

namespace ingot {

/// The pairs of neighbouring bytes that occur in a set of pieces. Merging never joins two bytes
/// that are in no piece side by side, so cutting a text between them changes nothing but keeps each
/// merge small.
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
