// Tests of messages: cat, printable, model_error, INGOT_CHECK, errno texts.
#include "base/error.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <limits>

#include "base/check.h"
#include "base/errno_text.h"
#include "base/text.h"

namespace ingot {
namespace {

TEST(Cat, JoinsValuesOfEveryKind) {
  EXPECT_EQ(cat("tensor ", std::string("a"), ' ', 3, ' ', true, ' ', 1.5f, ' ', false),
            "tensor a 3 true 1.5 false");
  EXPECT_EQ(cat(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(cat(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(cat(), "");
  const char* const pointer = "text";
  EXPECT_EQ(cat(pointer), "text") << "a pointer is not a bool";
}

TEST(Printable, LeavesTextAlone) {
  EXPECT_EQ(printable("blk.3.attn_q"), "blk.3.attn_q");
  EXPECT_EQ(printable("\u00e4 \u4e2d \U0001F600"), "\u00e4 \u4e2d \U0001F600");
  EXPECT_EQ(printable(""), "");
}

TEST(Printable, EscapesWhatCouldForgeOrHideALine) {
  EXPECT_EQ(printable("a\nb\r\x1b[31m"), "a\\x0ab\\x0d\\x1b[31m");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\x7f"), "\\x7f");
  EXPECT_EQ(printable("\u0085"), "\\xc2\\x85");       // a C1 control
  EXPECT_EQ(printable("\u202e"), "\\xe2\\x80\\xae");  // right-to-left override
  EXPECT_EQ(printable("\u2066"), "\\xe2\\x81\\xa6");  // an isolate
  EXPECT_EQ(printable("\u2028"), "\\xe2\\x80\\xa8");  // line separator
}

TEST(Printable, EscapesInvalidUtf8) {
  EXPECT_EQ(printable("\xC0\x80"), "\\xc0\\x80");
  EXPECT_EQ(printable("\xE2\x82"), "\\xe2\\x82");
  EXPECT_EQ(printable("\xFFz"), "\\xffz");
}

TEST(Printable, IsBounded) {
  EXPECT_EQ(printable("abcdef", 3), "abc...");
  EXPECT_EQ(printable("abc", 3), "abc");
  EXPECT_LE(printable(std::string(1 << 20, '\x01')).size(), 128u + 4 + 3);
}

TEST(ModelError, WithoutAnOffsetHasOneForScriptsOnly) {
  const Error whole = model_error("m @0: x.gguf", "config", "no layers @0: none");
  EXPECT_EQ(whole.code(), ErrorCode::kModel);
  EXPECT_EQ(whole.message(), "m @0: x.gguf: config @0: no layers @0: none");
  EXPECT_EQ(whole.plain_message(), "m @0: x.gguf: config: no layers @0: none");
  const Error at_begin = model_error("m.gguf", "header", 0, "bad magic");
  EXPECT_EQ(at_begin.plain_message(), "m.gguf: header @0: bad magic");
  EXPECT_EQ(section_error(ErrorCode::kIo, "m", "file", "it changed").plain_message(),
            "m: file: it changed");
  EXPECT_EQ(whole.with_end(" (2)").plain_message(), "m @0: x.gguf: config: no layers @0: none (2)");
  EXPECT_EQ(Error(ErrorCode::kIo, "a @0: b").plain_message(), "a @0: b");
}

TEST(ModelError, SaysWhereAndWhy) {
  const Error error = model_error("m\n.gguf", "header", 12, "bad magic");
  EXPECT_EQ(error.code(), ErrorCode::kModel);
  EXPECT_EQ(error.message(), "m\\x0a.gguf: header @12: bad magic");
  EXPECT_STREQ(error.what(), "m\\x0a.gguf: header @12: bad magic");
}

TEST(CheckDeathTest, NamesConditionAndValues) {
  const int rows = 3;
  INGOT_CHECK(rows == 3, "never seen");
  EXPECT_DEATH(INGOT_CHECK(rows == 4, "has ", rows, " rows"), "rows == 4 is false: has 3 rows");
}

TEST(ErrnoText, KnownAndUnknownNumbers) {
  EXPECT_EQ(errno_text(ENOENT), "no such file");
  EXPECT_EQ(errno_text(ENOSPC), "no space left on device");
  EXPECT_EQ(errno_text(9999), "system error 9999");
}

}  // namespace
}  // namespace ingot
