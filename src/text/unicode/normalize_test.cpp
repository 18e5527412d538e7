// Normal forms against known cases and utf8proc's own functions, invalid bytes, long runs of marks;
// the other steps of normalisation.
#include "text/unicode/normalize.h"

#include <gtest/gtest.h>
#include <utf8proc.h>

#include <cstdlib>
#include <string>

#include "base/error.h"
#include "base/full_run_test_util.h"
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

std::string in_library(const std::string& text, NormalForm form) {
  utf8proc_uint8_t* (*const functions[])(const utf8proc_uint8_t*) = {utf8proc_NFC, utf8proc_NFD,
                                                                     utf8proc_NFKC, utf8proc_NFKD};
  utf8proc_uint8_t* const normal = functions[static_cast<std::size_t>(form)](
      reinterpret_cast<const utf8proc_uint8_t*>(text.c_str()));
  EXPECT_NE(normal, nullptr);
  std::string result = reinterpret_cast<const char*>(normal);
  std::free(normal);
  return result;
}

constexpr NormalForm kForms[] = {NormalForm::kNfc, NormalForm::kNfd, NormalForm::kNfkc,
                                 NormalForm::kNfkd};

TEST(NormalForms, EqualTheLibraryOnRandomTexts) {
  const std::u32string alphabet =
      U"aeoAq\u0301\u0307\u0323\u0327\u0345\u0334\u00C5\u212B\u1E69\u1EA1\u0958\u0915\u093C\u1100"
      U"\u1161\u11A8\uAC00\uAC01\uFB1D\u05B4\uFB01\u00BD\uFF21\uFDFA\u0BC6\u0BBE\u0CC6\u0CC2"
      U"\U0001D15E\u0344\u0F73\u4E2D\u3099\u304B\uFF76\uFF9E\U0002F800";
  Random random(3);
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (std::uint64_t n = random.next() % 12; n > 0; --n)
      append_utf8(text, alphabet[random.next() % alphabet.size()]);
    for (const NormalForm form : kForms) {
      const std::string wanted = in_library(text, form);
      ASSERT_EQ(to_normal_form(text, form), wanted) << text;
      ASSERT_EQ(to_normal_form(wanted, form), wanted) << text;
    }
  }
}

TEST(NormalForms, CodePointsOneByOneEqualTheLibrary) {
  // Behind a letter and a mark, which each may move before or compose with.
  const char32_t end = is_full_run() ? 0x110000 : 0x3100;
  for (char32_t c = 1; c < end; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text = "q\u0323";
    append_utf8(text, c);
    text += "\u0301";
    for (const NormalForm form : kForms) {
      ASSERT_EQ(to_normal_form(text, form), in_library(text, form))
          << static_cast<std::uint32_t>(c);
    }
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

TEST(Normalize, LowerCaseKnowsNoContext) {
  EXPECT_EQ(to_lower("ABCxyz1\u00C9\u0416"), "abcxyz1\u00E9\u0436");
  EXPECT_EQ(to_lower("\u03A3\u03A3"), "\u03C3\u03C3");
  EXPECT_EQ(to_lower("\u0130"), "i\u0307");
  EXPECT_EQ(to_lower("A\xFF\xC3Z"), "a\xFF\xC3z");
}

TEST(Normalize, MarksAndWhiteSpaceAreTakenAway) {
  EXPECT_EQ(strip_marks("e\u0301\u0903x\u20DD\u00E9"), "ex\u00E9");
  EXPECT_EQ(strip(" \u3000a b\n\t", true, true), "a b");
  EXPECT_EQ(strip(" a ", true, false), "a ");
  EXPECT_EQ(strip(" a ", false, true), " a");
  EXPECT_EQ(strip(" a ", false, false), " a ");
  EXPECT_EQ(strip(" \n ", true, true), "");
  EXPECT_EQ(strip(" \n ", false, true), "");
  EXPECT_EQ(strip("", true, true), "");
  EXPECT_EQ(strip(" \xFF ", true, true), "\xFF");
}

TEST(Normalize, Bert) {
  EXPECT_EQ(bert_normalize("\u00C9\u4E2Da\tb\u200B", {}), "e \u4E2D a b");
  EXPECT_EQ(bert_normalize(std::string("a\0b\uFFFD\x0B", 6), {}), "ab");
  EXPECT_EQ(bert_normalize("\u00C9\n", {.lowercase = false}), "E ");
  EXPECT_EQ(bert_normalize("\u00C9", {.strip_accents = false}), "\u00E9");
  EXPECT_EQ(bert_normalize("\u4E2D\u00AD", {.clean_text = false, .space_cjk = false}),
            "\u4E2D\u00AD");
  EXPECT_EQ(bert_normalize("\u093E\u0301", {}), "\u093E");  // spacing marks stay
}

TEST(Normalize, Nmt) {
  EXPECT_EQ(nmt_normalize("a\x01\x7F"
                          "b\tc\u200Bd\uFEFFe\u2581\u00A0"),
            "ab c d e \u00A0");
}

TEST(Normalize, SizesAreChecked) {
  EXPECT_NO_THROW(check_normalized_size(normalized_bytes_max(10), normalized_bytes_max(10)));
  EXPECT_THROW(check_normalized_size(normalized_bytes_max(10) + 1, normalized_bytes_max(10)),
               Error);
  EXPECT_EQ(normalized_bytes_max(10), 1064U);
}

}  // namespace
}  // namespace ingot::testing
