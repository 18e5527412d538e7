// Tests valid and invalid server addresses.
#include "bench/client/server_url.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace ingot {
namespace {

TEST(ServerUrl, HasTheUsualPorts) {
  const ServerUrl plain = parse_server_url("http://example.org");
  EXPECT_FALSE(plain.is_tls);
  EXPECT_EQ(plain.host, "example.org");
  EXPECT_EQ(plain.port, "80");
  EXPECT_EQ(plain.prefix, "");
  EXPECT_EQ(plain.host_field(), "example.org");
  const ServerUrl tls = parse_server_url("https://example.org/");
  EXPECT_TRUE(tls.is_tls);
  EXPECT_EQ(tls.port, "443");
  EXPECT_EQ(tls.host_field(), "example.org");
}

TEST(ServerUrl, HasAPortAndAPrefix) {
  const ServerUrl url = parse_server_url("http://127.0.0.1:8080/a/b//");
  EXPECT_EQ(url.host, "127.0.0.1");
  EXPECT_EQ(url.port, "8080");
  EXPECT_EQ(url.prefix, "/a/b");
  EXPECT_EQ(url.host_field(), "127.0.0.1:8080");
}

TEST(ServerUrl, LosesTheVersion) {
  EXPECT_EQ(parse_server_url("http://h:1/v1").prefix, "");
  EXPECT_EQ(parse_server_url("http://h:1/api/v1/").prefix, "/api");
  EXPECT_EQ(parse_server_url("http://h:1/xv1").prefix, "/xv1");
}

TEST(ServerUrl, HasAddressesInBrackets) {
  const ServerUrl url = parse_server_url("http://[::1]:99/x");
  EXPECT_EQ(url.host, "::1");
  EXPECT_EQ(url.port, "99");
  EXPECT_EQ(url.host_field(), "[::1]:99");
  EXPECT_EQ(parse_server_url("http://[::1]").port, "80");
}

TEST(ServerUrl, IsAPathOfAUnixSocket) {
  const ServerUrl url = parse_server_url("unix:/run/a b.sock");
  EXPECT_EQ(url.unix_path, "/run/a b.sock");
  EXPECT_EQ(url.host_field(), "localhost");
}

TEST(ServerUrl, RefusesWhatItDoesNotUnderstand) {
  for (const std::string text : {"",
                                 "example.org",
                                 "ftp://h",
                                 "http://",
                                 "http:///x",
                                 "http://h:",
                                 "http://h:0",
                                 "http://h:65536",
                                 "http://h:8x",
                                 "http://u@h",
                                 "http://u:p@h",
                                 "http://h/a b",
                                 "http://h/?q",
                                 "http://h/#f",
                                 "http://[::1",
                                 "http://[]",
                                 "http://[::1]x",
                                 "http://[h]",
                                 "unix:",
                                 "http://h\r\nX: y",
                                 "HTTP://h"}) {
    EXPECT_THROW(parse_server_url(text), Error) << text;
  }
  EXPECT_THROW(parse_server_url("unix:" + std::string(108, 'x')), Error);
  EXPECT_THROW(parse_server_url("http://" + std::string(4096, 'x')), Error);
}

}  // namespace
}  // namespace ingot
