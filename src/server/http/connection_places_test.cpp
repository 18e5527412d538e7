// Tests of ConnectionPlaces: limits, places for probes, and waiting for the last connection.
#include "server/http/connection_places.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

using Place = ConnectionPlaces::Place;

TEST(ConnectionPlaces, ProbesHavePlacesOfTheirOwn) {
  ConnectionPlaces places(2, 1, 10);
  EXPECT_EQ(places.enter("a"), Place::kFree);
  EXPECT_EQ(places.enter(""), Place::kFree);
  EXPECT_EQ(places.enter("b"), Place::kReserved);
  EXPECT_EQ(places.enter("c"), Place::kNone);
  places.leave("a", Place::kFree);
  EXPECT_EQ(places.enter("c"), Place::kFree) << "the reserved one is still taken";
  EXPECT_EQ(places.enter("d"), Place::kNone);
  places.leave("b", Place::kReserved);
  EXPECT_EQ(places.enter("d"), Place::kReserved);
}

TEST(ConnectionPlaces, OneAddressHasAShare) {
  ConnectionPlaces places(10, 0, 2);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(places.enter(""), Place::kFree) << "no address, no share";
  EXPECT_EQ(places.enter("a"), Place::kFree);
  EXPECT_EQ(places.enter("a"), Place::kFree);
  EXPECT_EQ(places.enter("a"), Place::kNone);
  EXPECT_EQ(places.enter("b"), Place::kFree);
  places.leave("a", Place::kFree);
  EXPECT_EQ(places.enter("a"), Place::kFree);
}

TEST(ConnectionPlaces, TheLastOneToLeaveIsSeen) {
  ConnectionPlaces places(10, 0, 10);
  EXPECT_TRUE(places.wait_until_none(0));
  EXPECT_EQ(places.enter("a"), Place::kFree);
  EXPECT_FALSE(places.wait_until_none(0));
  places.leave("a", Place::kFree);
  EXPECT_TRUE(places.wait_until_none(0));
}

}  // namespace
}  // namespace ingot
