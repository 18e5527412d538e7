// Normal form C: known cases, invalid bytes, long runs of marks, and utf8proc's own NFC on random
// texts.
#include "text/normalize.h"

#include <gtest/gtest.h>
#include <utf8proc.h>

#include <cstdlib>
#include <string>

#include "base/utf8.h"
#include "quant/test_data.h"

namespace ingot::testing {
namespace {

TEST(Nfc, KnownCases) {
  EXPECT_EQ(to_nfc(""), "");
  EXPECT_EQ(to_nfc("plain"), "plain");
  EXPECT_EQ(to_nfc("e\u0301"), "\u00E9");
  EXPECT_EQ(to_nfc("\u00E9"), "\u00E9");
  EXPECT_EQ(to_nfc("\u212B"), "\u00C5");                // Angstrom sign, a singleton
  EXPECT_EQ(to_nfc("\u0958"), "\u0915\u093C");          // excluded from composition
  EXPECT_EQ(to_nfc("q\u0307\u0323"), "q\u0323\u0307");  // UAX 15, figure 6: only reordered
  EXPECT_EQ(to_nfc("a\u0307\u0323"), "\u1EA1\u0307");
  EXPECT_EQ(to_nfc("\u1112\u1161\u11AB"), "\uD55C");  // Hangul
  EXPECT_EQ(to_nfc(std::string("\0e\u0301\0", 5)), std::string("\0\u00E9\0", 4));
}

TEST(Nfc, InvalidBytesStayAndSeparate) {
  EXPECT_EQ(to_nfc("e\x80\u0301"), "e\x80\u0301");
  EXPECT_EQ(to_nfc("e\u0301\xFF"
                   "e\u0301"),
            "\u00E9\xFF\u00E9");
  EXPECT_EQ(to_nfc("\xED\xA0\x80"), "\xED\xA0\x80");
  EXPECT_EQ(to_nfc("\xF0\x9F\x91"), "\xF0\x9F\x91");
}

TEST(Nfc, EqualsTheLibraryOnRandomTexts) {
  const std::u32string alphabet =
      U"aeoAq\u0301\u0307\u0323\u0327\u0345\u0334\u00C5\u212B\u1E69\u1EA1\u0958\u0915\u093C\u1100"
      U"\u1161\u11A8\uAC00\uFB1D\u05B4"
      U"\U0001D15E\u0344\u0F73\u4E2D\u3099\u304B\U0002F800";
  Random random(3);
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (std::uint64_t n = random.next() % 12; n > 0; --n)
      append_utf8(text, alphabet[random.next() % alphabet.size()]);
    utf8proc_uint8_t* const normal =
        utf8proc_NFC(reinterpret_cast<const utf8proc_uint8_t*>(text.c_str()));
    ASSERT_NE(normal, nullptr);
    const std::string wanted = reinterpret_cast<const char*>(normal);
    std::free(normal);
    ASSERT_EQ(to_nfc(text), wanted);
    ASSERT_EQ(to_nfc(wanted), wanted);
  }
}

TEST(Nfc, LongRunsOfMarksAreSortedOnce) {
  // Marks in the wrong order throughout: sorting by neighbouring swaps would take 10^11 steps.
  constexpr int kMarks = 400'000;
  std::string text = "a";
  for (int i = 0; i < kMarks; ++i) text += "\u0301";
  for (int i = 0; i < kMarks; ++i) text += "\u0323";
  std::string wanted = "\u1EA1";
  for (int i = 1; i < kMarks; ++i) wanted += "\u0323";
  for (int i = 0; i < kMarks; ++i) wanted += "\u0301";
  EXPECT_EQ(to_nfc(text), wanted);
}

}  // namespace
}  // namespace ingot::testing
