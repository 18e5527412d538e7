// Tests base64 decoding with the examples of RFC 4648.
#include "load/base64.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

// RFC 4648, section 10.
TEST(Base64, ExamplesOfTheStandard) {
  EXPECT_EQ(decode_base64(""), "");
  EXPECT_EQ(decode_base64("Zg=="), "f");
  EXPECT_EQ(decode_base64("Zm8="), "fo");
  EXPECT_EQ(decode_base64("Zm9v"), "foo");
  EXPECT_EQ(decode_base64("Zm9vYg=="), "foob");
  EXPECT_EQ(decode_base64("Zm9vYmE="), "fooba");
  EXPECT_EQ(decode_base64("Zm9vYmFy"), "foobar");
  EXPECT_EQ(decode_base64("+/+/"), "\xFB\xFF\xBF");
}

TEST(Base64, MalformedTextsAreNothing) {
  for (const char* text : {"Z", "Zg", "Zg=", "Z===", "====", "Zm9v\n", "Zm 9",
                           "Zh==", "Zm9=", "Zg==Zg==", "Zm-_", "Zm9\xFF"}) {
    EXPECT_EQ(decode_base64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace ingot
