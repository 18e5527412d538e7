// The line of a progress bar: it fits every terminal.
#include "cli/progress.h"

#include <gtest/gtest.h>

#include "base/utf8.h"
#include "text/unicode/display_width.h"

namespace ingot {
namespace {

TEST(Progress, HasALabelABarAndANote) {
  const std::string bar(16, '#');
  const std::string rest(24, ' ');
  EXPECT_EQ(progress_line("writing", 40, "", 200), "writing [" + bar + rest + "] 40 %");
  EXPECT_EQ(progress_line("writing", 40, "1 MB/s", 200),
            "writing [" + bar + rest + "] 40 % 1 MB/s");
  EXPECT_EQ(progress_line("writing", 100, "", 40), "writing [" + std::string(23, '#') + "] 100 %");
}

TEST(Progress, ShortensWhatDoesNotFit) {
  EXPECT_EQ(progress_line("loading and packing weights", 50, "", 40),
            "loading and packing wei.. [###   ] 50 %");
  EXPECT_EQ(progress_line("loading and packing weights", 50, "", 20), "loading and.. 50 %");
  EXPECT_EQ(progress_line("loading", 50, "1 MB/s", 22), "loading 50 % 1 MB/s");
  EXPECT_EQ(progress_line("loading", 50, "1 MB/s", 20), "loading 50 %");
  EXPECT_EQ(progress_line("loading", 50, "", 5), "50 %");
}

TEST(Progress, FitsEveryWidthInColumns) {
  for (const std::string_view label :
       {"", "a", "loading and packing weights",
        "\u6f22\u5b57\u6f22\u5b57\u6f22\u5b57\u6f22\u5b57\u6f22\u5b57",
        "e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301"}) {
    for (const std::string_view note : {"", "12.5 MB/s, 3 min left", "\u6f22\u5b57"}) {
      for (std::size_t columns = 0; columns < 120; ++columns) {
        for (const int percent : {0, 7, 100}) {
          const std::string line = progress_line(label, percent, note, columns);
          EXPECT_LE(display_width(line) + 1,
                    static_cast<std::int64_t>(std::max<std::size_t>(columns, 1)))
              << line;
          EXPECT_TRUE(is_utf8(line));
        }
      }
    }
  }
}

}  // namespace
}  // namespace ingot
