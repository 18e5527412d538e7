// Asks the system for a terminal's size.
#include "cli/terminal/terminal_size.h"

#include <sys/ioctl.h>

#include <cstdlib>
#include <string_view>

namespace ingot {

ScreenSize screen_size(int fd) {
  ScreenSize size;
  winsize found{};
  if (ioctl(fd, TIOCGWINSZ, &found) != 0) return size;
  if (found.ws_col > 0) size.columns = found.ws_col;
  if (found.ws_row > 0) size.rows = found.ws_row;
  return size;
}

bool is_dumb_terminal() {
  const char* term = std::getenv("TERM");
  return term == nullptr || *term == '\0' || std::string_view(term) == "dumb";
}

}  // namespace ingot
