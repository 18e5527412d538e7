// AuthFailures: addresses, networks, and what passes with time.
#include "server/common/auth_failures.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace ingot {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr AuthFailures::Clock::time_point kStart{};

TEST(AuthFailures, SoManyInAnyMinute) {
  AuthFailures failures(3);
  for (const int second : {0, 50, 59}) {
    EXPECT_EQ(failures.add("192.0.2.1", kStart + seconds(second)), seconds(0)) << second;
  }
  EXPECT_EQ(failures.add("192.0.2.1", kStart + milliseconds(59'500)), seconds(1));
  EXPECT_EQ(failures.add("192.0.2.1", kStart + seconds(60)), seconds(0)) << "the first has passed";
  // Were minutes counted one by one, three more would be free here.
  EXPECT_EQ(failures.add("192.0.2.1", kStart + seconds(61)), seconds(49));
  EXPECT_EQ(failures.add("192.0.2.2", kStart + seconds(61)), seconds(0))
      << "failures of another address";
}

TEST(AuthFailures, ANetworkOfIpv6IsOneGuesser) {
  AuthFailures failures(1);
  EXPECT_EQ(failures.add("2001:db8:0:1::1", kStart), seconds(0));
  EXPECT_EQ(failures.add("2001:db8:0:1:ffff::2", kStart), seconds(60));
  EXPECT_EQ(failures.add("2001:db8:0:2::1", kStart), seconds(0));
  for (const char* address : {"::ffff:192.0.2.1", "::ffff:192.0.2.2", "::1"}) {
    EXPECT_EQ(failures.add(address, kStart), seconds(0)) << address;
  }
  EXPECT_EQ(failures.add("fe80::1%eth0", kStart), seconds(0));
  EXPECT_EQ(failures.add("fe80::2%eth1", kStart), seconds(60));
}

TEST(AuthFailures, AddressesBeyondThoseToldApartCountTogether) {
  AuthFailures failures(2);
  for (std::size_t i = 0; i < AuthFailures::kAddressesMax; ++i) {
    ASSERT_EQ(failures.add(cat("10.0.", i / 256, ".", i % 256), kStart), seconds(0));
  }
  EXPECT_EQ(failures.add("192.0.2.1", kStart + seconds(10)), seconds(0));
  EXPECT_EQ(failures.add("192.0.2.2", kStart + seconds(10)), seconds(0));
  EXPECT_EQ(failures.add("192.0.2.3", kStart + seconds(10)), seconds(60));
  EXPECT_EQ(failures.add("10.0.0.0", kStart + seconds(10)), seconds(0)) << "known by itself";
  EXPECT_EQ(failures.add("192.0.2.3", kStart + seconds(60)), seconds(0)) << "there is room again";
}

TEST(AuthFailures, NoneAllowed) {
  EXPECT_EQ(AuthFailures(0).add("192.0.2.1", kStart), AuthFailures::kWindow);
}

}  // namespace
}  // namespace ingot
