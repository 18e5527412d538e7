// Tests of when a request is repeated.
#include "hub/retry.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

HttpReply reply(int status, std::string retry_after = "") {
  HttpReply r;
  r.status = status;
  r.retry_after = std::move(retry_after);
  return r;
}

TEST(Retry, WhatPasses) {
  for (const int status : {408, 429, 500, 502, 503, 504}) {
    EXPECT_EQ(retry_wait_ms(reply(status), 1), 500) << status;
  }
  for (const int status : {200, 206, 301, 400, 401, 403, 404, 416, 451, 501}) {
    EXPECT_EQ(retry_wait_ms(reply(status), 1), std::nullopt) << status;
  }
  HttpReply broken = reply(206);
  broken.transport = Transport::kBroken;
  EXPECT_EQ(retry_wait_ms(broken, 1), 500);
  for (const Transport transport : {Transport::kUnreachable, Transport::kRefused}) {
    HttpReply lost = reply(503);
    lost.transport = transport;
    EXPECT_EQ(retry_wait_ms(lost, 1), std::nullopt);
  }
}

TEST(Retry, WaitsDoubleAndEnd) {
  EXPECT_EQ(retry_wait_ms(reply(503), 2), 1000);
  EXPECT_EQ(retry_wait_ms(reply(503), 3), 2000);
  EXPECT_EQ(retry_wait_ms(reply(503), 4), 4000);
  EXPECT_EQ(retry_wait_ms(reply(503), kAttemptsMax), std::nullopt);
  EXPECT_EQ(retry_wait_ms(reply(503, "0"), kAttemptsMax), std::nullopt);
}

TEST(Retry, TheServerMaySayHowLong) {
  EXPECT_EQ(retry_wait_ms(reply(429, "0"), 3), 0);
  EXPECT_EQ(retry_wait_ms(reply(429, "7"), 1), 7000);
  EXPECT_EQ(retry_wait_ms(reply(429, "120"), 1), 120'000);
  for (const char* much : {"121", "2147483647", "99999999999999999999"}) {
    EXPECT_EQ(retry_wait_ms(reply(429, much), 1), std::nullopt) << much;
  }
  for (const char* other : {"Wed, 21 Oct 2026 07:28:00 GMT", "-1", "soon", "1.5", " 1"}) {
    EXPECT_EQ(retry_wait_ms(reply(429, other), 1), 500) << other;
  }
}

}  // namespace
}  // namespace ingot
