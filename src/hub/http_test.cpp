// Tests of the pure parts of the HTTP client; the rest is tested against a server in tests/cli.
#include "hub/http.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

TEST(Http, ContentRange) {
  EXPECT_EQ(content_range_begin("bytes 100-199/200"), 100U);
  EXPECT_EQ(content_range_begin("bytes 0-0/*"), 0U);
  for (const char* header : {"", "bytes", "bytes ", "bytes */200", "bytes -5/7", "items 1-2/3",
                             "bytes 1", "bytes 99999999999999999999-1/2", "100-199/200"}) {
    EXPECT_EQ(content_range_begin(header), std::nullopt) << header;
  }
}

TEST(Http, UrlEscape) {
  EXPECT_EQ(url_escape("a/b-c_d.e~f"), "a/b-c_d.e~f");
  EXPECT_EQ(url_escape("a b?c#d%e&f+g"), "a%20b%3Fc%23d%25e%26f%2Bg");
  EXPECT_EQ(url_escape("\xc3\xa4"), "%C3%A4");
}

}  // namespace
}  // namespace ingot
