// The painter: after any edits, the screen shows the text as if it were painted for the first time.
#include "cli/terminal/line_painter.h"

#include <gtest/gtest.h>

#include <random>

#include "cli/terminal/screen_test_util.h"

namespace ingot {
namespace {

/// A painter and its screen.
class Painting {
 public:
  explicit Painting(ScreenSize size) : size_(size), screen_(size.columns, size.rows) {}

  void show(std::u32string_view text, std::size_t cursor) {
    screen_.write_lines(painter_.show(text, cursor, size_));
  }
  void finish() { screen_.write_lines(painter_.finish()); }
  std::string text() const { return screen_.text(); }
  std::pair<std::size_t, std::size_t> place() const { return {screen_.row(), screen_.column()}; }

 private:
  ScreenSize size_;
  LinePainter painter_{false};
  TestScreen screen_;
};

using Place = std::pair<std::size_t, std::size_t>;

TEST(LinePainter, ShowsTextInRows) {
  Painting p({10, 5});
  p.show(U"> 0123456789", 12);
  EXPECT_EQ(p.text(), "> 01234567\n89");
  EXPECT_EQ(p.place(), (Place{1, 2}));
  p.show(U"> 01234567", 10);
  EXPECT_EQ(p.text(), "> 01234567");
  EXPECT_EQ(p.place(), (Place{1, 0}));
  p.show(U"> a\nb\tc\x01\u0085", 4);
  EXPECT_EQ(p.text(), "> a\nb       c\n^A\\xc2\\x85");
  EXPECT_EQ(p.place(), (Place{1, 0}));
  p.show(U"> 012345\u6f22", 9);
  EXPECT_EQ(p.place(), (Place{1, 0}));
  p.show(U"> 0123456\u6f22e\u0301", 12);
  EXPECT_EQ(p.text(), "> 0123456\n\u6f22e\u0301");
  p.finish();
  p.show(U"> ", 2);
  EXPECT_EQ(p.text(), "> 0123456\n\u6f22e\u0301\n>");
}

TEST(LinePainter, WritesOnlyWhatIsNew) {
  LinePainter painter(false);
  EXPECT_EQ(painter.show(U"> ab", 4, {}), "> ab");
  EXPECT_EQ(painter.show(U"> abc", 5, {}), "c");
  EXPECT_EQ(painter.show(U"> abc", 3, {}), "\r\x1b[3C");
  EXPECT_EQ(painter.show(U"> abc", 3, {}), "");
  EXPECT_EQ(painter.finish(), "\r\x1b[5C\n");
}

TEST(LinePainter, OfALongTextShowsTheRowsAroundTheCursor) {
  Painting p({10, 3});
  const std::u32string text = U"1\n2\n3\n4\n5";
  p.show(text, text.size());
  EXPECT_EQ(p.text(), "3\n4\n5");
  p.show(text, 2);
  EXPECT_EQ(p.text(), "2\n3\n4");
  EXPECT_EQ(p.place(), (Place{0, 0}));
  p.show(U"1", 1);
  EXPECT_EQ(p.text(), "1");
}

TEST(LinePainter, ManyEditsShowTheSameAsOne) {
  std::mt19937 random(1);
  const std::u32string letters = U"abc \t\n\u6f22\u0301\u00e9\x01\u202e\U0001F600";
  for (const ScreenSize size : {ScreenSize{2, 3}, {7, 4}, {8, 40}, {40, 5}}) {
    Painting edited(size);
    std::u32string text;
    edited.show(text, 0);
    for (int i = 0; i < 1000; ++i) {
      const std::size_t at = random() % (text.size() + 1);
      if (random() % 3 == 0) {
        text.erase(at, random() % 9);
      } else if (random() % 3 == 0) {
        text += letters[random() % letters.size()];
      } else {
        text.insert(at, 1 + random() % 3, letters[random() % letters.size()]);
      }
      if (!text.empty() && text.front() == U'\u0301') text.insert(0, 1, U'x');
      const std::size_t cursor = random() % (text.size() + 1);
      edited.show(text, cursor);
      Painting fresh(size);
      fresh.show(text, cursor);
      if (size.rows < 40) continue;  // a long text shows other rows around the cursor
      ASSERT_EQ(edited.text(), fresh.text()) << i;
      ASSERT_EQ(edited.place(), fresh.place()) << i;
      if (text.size() > 150) text.erase(0, 100);
    }
  }
}

TEST(LinePainter, WithoutSequencesShowsChangedTextAgain) {
  LinePainter painter(true);
  EXPECT_EQ(painter.show(U"> a", 3, {}), "> a");
  EXPECT_EQ(painter.show(U"> ab", 4, {}), "b");
  EXPECT_EQ(painter.show(U"> a", 3, {}), "\n> a");
  EXPECT_EQ(painter.finish(), "\n");
}

TEST(LinePainter, AfterAResizeClearsTheRowsThatTheTerminalBrokeAnew) {
  LinePainter painter(false);
  painter.show(U"> 0123456789", 12, {20, 5});
  EXPECT_EQ(painter.show(U"> 0123456789", 12, {5, 5}), "\x1b[2A\r\x1b[J> 0123456789");
}

}  // namespace
}  // namespace ingot
