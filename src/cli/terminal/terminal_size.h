// The size and the kind of a terminal.
#pragma once

#include <cstddef>

namespace ingot {

/// The size of a terminal in characters.
struct ScreenSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
  bool operator==(const ScreenSize&) const = default;
};

/// Returns the size now; 80 columns and 24 rows if the terminal does not tell.
ScreenSize screen_size(int fd);

/// Returns whether the terminal knows no escape sequences: TERM is absent, empty or "dumb".
bool is_dumb_terminal();

}  // namespace ingot
