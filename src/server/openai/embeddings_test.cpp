// Tests of the limit on the size of a response of embeddings.
#include <gtest/gtest.h>

#include "server/openai/endpoints.h"

namespace ingot {
namespace {

TEST(Embeddings, SixteenMillionFloatsAreTheLimit) {
  EXPECT_NO_THROW(check_embeddings_size(2048, 4096));
  EXPECT_NO_THROW(check_embeddings_size(2048, 8192));
  EXPECT_NO_THROW(check_embeddings_size(1, 16384));
  try {
    check_embeddings_size(1025, 16384);
    FAIL() << "accepted";
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status, 400);
    EXPECT_EQ(error.param, "input");
  }
}

}  // namespace
}  // namespace ingot
