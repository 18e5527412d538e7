// Tests of UTF-8: every code point, every kind of invalid bytes, tails of streams.
#include "base/utf8.h"

#include <gtest/gtest.h>

#include <vector>

namespace ingot {
namespace {

std::string encoded(char32_t code) {
  std::string text;
  append_utf8(text, code);
  return text;
}

TEST(Utf8, EveryCodePointRoundTrips) {
  for (char32_t code = 0; code <= 0x10FFFF; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    const std::string text = encoded(code);
    const std::size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    ASSERT_EQ(text.size(), size) << static_cast<std::uint32_t>(code);
    const Utf8Char c = decode_utf8(text + "x");
    ASSERT_TRUE(c.valid);
    ASSERT_EQ(c.code, code);
    ASSERT_EQ(c.size, size);
    ASSERT_EQ(incomplete_utf8_tail(text), 0u);
    for (std::size_t n = 1; n < size; ++n) {
      const std::string_view prefix = std::string_view(text).substr(0, n);
      ASSERT_FALSE(is_utf8(prefix));
      ASSERT_EQ(incomplete_utf8_tail(prefix), n) << static_cast<std::uint32_t>(code);
    }
  }
}

/// Every string of up to three bytes and of four with a lead of four: valid exactly when it is what
/// encoding gives.
TEST(Utf8, OnlyTheShortestFormsOfScalarValuesAreValid) {
  for (unsigned lead = 0; lead < 256; ++lead) {
    for (unsigned second = 0; second < 256; ++second) {
      for (const unsigned third : {0x00u, 0x7Fu, 0x80u, 0xBFu, 0xC0u}) {
        for (const unsigned fourth : {0x7Fu, 0x80u, 0xBFu, 0xC0u}) {
          std::string text;
          for (const unsigned byte : {lead, second, third, fourth}) text += static_cast<char>(byte);
          const Utf8Char c = decode_utf8(text);
          ASSERT_GE(c.size, 1u);
          ASSERT_LE(c.size, 4u);
          if (c.valid) {
            ASSERT_EQ(encoded(c.code), text.substr(0, c.size));
            ASSERT_TRUE(c.code < 0xD800 || (c.code >= 0xE000 && c.code <= 0x10FFFF));
          } else {
            ASSERT_EQ(c.code, 0xFFFDu);
          }
        }
      }
    }
  }
}

/// Source of the expected counts: Unicode 15, section 3.9, tables 3-8 to 3-11 ("maximal subparts").
TEST(Utf8, ReplacesMaximalSubparts) {
  const auto counted = [](std::string_view text) {
    std::string out;
    for (const char c : to_valid_utf8(text)) {
      if (static_cast<unsigned char>(c) == 0xEF) out += '?';
      if (static_cast<unsigned char>(c) < 0x80) out += c;
    }
    return out;
  };
  EXPECT_EQ(counted("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"), "????????A");
  EXPECT_EQ(counted("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"), "????????A");
  EXPECT_EQ(counted("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"), "?????A??B");
  EXPECT_EQ(counted("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), "????A");
}

TEST(Utf8, TheCatalogueOfInvalidBytes) {
  for (const std::string_view text : {"\xC0\x80",
                                      "\xC1\xBF",
                                      "\xE0\x80\x80",
                                      "\xE0\x9F\xBF",
                                      "\xED\xA0\x80",
                                      "\xED\xBF\xBF",
                                      "\xF0\x80\x80\x80",
                                      "\xF0\x8F\xBF\xBF",
                                      "\xF4\x90\x80\x80",
                                      "\xF5\x80\x80\x80",
                                      "\xF8\x88\x80\x80\x80",
                                      "\xFC\x84\x80\x80\x80\x80",
                                      "\xFE",
                                      "\xFF",
                                      "\x80",
                                      "\xBF",
                                      "\xC3",
                                      "\xE2\x82",
                                      "\xF0\x9F\x98",
                                      "\xC3\x28"}) {
    EXPECT_FALSE(is_utf8(text));
    EXPECT_FALSE(decode_utf8(text).valid);
    const std::string fixed = to_valid_utf8(text);
    EXPECT_TRUE(is_utf8(fixed));
    EXPECT_EQ(fixed.substr(0, 3), "\xEF\xBF\xBD");
  }
}

TEST(Utf8, ZeroAndEmptyText) {
  EXPECT_TRUE(is_utf8(std::string_view("a\0b", 3)));
  EXPECT_EQ(decode_utf8(std::string_view("\0", 1)).code, 0u);
  EXPECT_TRUE(decode_utf8(std::string_view("\0", 1)).valid);
  EXPECT_TRUE(is_utf8(""));
  EXPECT_EQ(decode_utf8("").size, 0u);
  EXPECT_FALSE(decode_utf8("").valid);
  EXPECT_EQ(incomplete_utf8_tail(""), 0u);
}

TEST(Utf8, TailsThatNothingCanCompleteAreNotIncomplete) {
  EXPECT_EQ(incomplete_utf8_tail("a\x80"), 0u);     // a stray continuation
  EXPECT_EQ(incomplete_utf8_tail("\xE0\x80"), 0u);  // overlong
  EXPECT_EQ(incomplete_utf8_tail("\xED\xA0"), 0u);  // a surrogate
  EXPECT_EQ(incomplete_utf8_tail("\xF4\x90"), 0u);  // past U+10FFFF
  EXPECT_EQ(incomplete_utf8_tail("\xC3\xA4\xFF"), 0u);
  EXPECT_EQ(incomplete_utf8_tail("ab\xE2\x82"), 2u);
  EXPECT_EQ(incomplete_utf8_tail("ab\xE2\x82\xE2"), 1u);
  EXPECT_EQ(incomplete_utf8_tail("\xF0\x9F\x98"), 3u);
}

TEST(Utf8, AStreamCutAnywhereGivesTheSameText) {
  const std::string text = "a\u00e4\u4e2d\U0001F600\xFF\xE2\x82z\xF0\x9F\x98";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const std::size_t held = incomplete_utf8_tail(std::string_view(text).substr(0, cut));
    const std::string first = text.substr(0, cut - held);
    EXPECT_EQ(to_valid_utf8(first) + to_valid_utf8(text.substr(first.size())), to_valid_utf8(text))
        << cut;
  }
}

TEST(Utf8, AByteOrderMarkIsOneAtTheStart) {
  EXPECT_EQ(without_byte_order_mark("\xEF\xBB\xBF"), "");
  EXPECT_EQ(without_byte_order_mark("\xEF\xBB\xBF\xEF\xBB\xBF"
                                    "a"),
            "\xEF\xBB\xBF"
            "a");
  EXPECT_EQ(without_byte_order_mark("a\xEF\xBB\xBF"), "a\xEF\xBB\xBF");
  EXPECT_EQ(without_byte_order_mark("\xEF\xBB"), "\xEF\xBB");
  EXPECT_EQ(without_byte_order_mark(""), "");
}

}  // namespace
}  // namespace ingot
