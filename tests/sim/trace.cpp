// Trace: prints events as text.
#include "sim/trace.h"

#include <cstdio>
#include <string>

#include "base/text.h"

namespace ingot::sim {

/// Prints `what`, with each '#' replaced by one of the numbers.
void Trace::print(const char* what, std::int64_t a, std::int64_t b, std::int64_t c,
                  std::int64_t d) const {
  const std::int64_t numbers[] = {a, b, c, d};
  std::string line = cat(tick_, ": ");
  int next = 0;
  for (; *what != 0; ++what) {
    if (*what == '#' && next < 4) {
      line += cat(numbers[next++]);
    } else {
      line += *what;
    }
  }
  std::puts(line.c_str());
  std::fflush(stdout);
}

}  // namespace ingot::sim
