// StopText: ends a text at the first of some strings, and lets no part of one out before.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// A stream of text that ends before the first occurrence of a stop string.
class StopText {
 public:
  explicit StopText(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  /// Appends to `out` what of the text so far cannot belong to a stop string; true once one has
  /// been found.
  bool push(std::string_view text, std::string& out);
  /// Appends what was held back: no stop string will come.
  void finish(std::string& out);

 private:
  std::vector<std::string> stops_;
  std::string held_;
};

}  // namespace ingot
