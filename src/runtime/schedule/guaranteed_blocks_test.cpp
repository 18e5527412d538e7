// GuaranteedBlocks: which sequences get a guarantee, and how many blocks it withholds.
#include "runtime/schedule/guaranteed_blocks.h"

#include "runtime/schedule/scheduler_test_util.h"

namespace ingot {
namespace {

class GuaranteedBlocksTest : public ::testing::Test {
 protected:
  Pool pool_{10};
  GuaranteedBlocks guarantees_{pool_.cache(), 32, 2};
  std::unique_ptr<Sequence> sequence_ = sequence_of(pool_, 20);
  std::vector<Sequence*> running_{sequence_.get()};
};

TEST_F(GuaranteedBlocksTest, AreDueAfterTheLastPreemption) {
  sequence_->preemptions = 1;
  guarantees_.grant(*sequence_);
  EXPECT_FALSE(sequence_->guaranteed);
  sequence_->preemptions = 2;
  guarantees_.grant(*sequence_);
  EXPECT_TRUE(sequence_->guaranteed);
  guarantees_.revoke(*sequence_);
  EXPECT_FALSE(sequence_->guaranteed);
}

TEST_F(GuaranteedBlocksTest, WithholdWhatTheSequenceMayStillTake) {
  sequence_->preemptions = 2;
  sequence_->rows_max = 70;  // five blocks
  ASSERT_TRUE(sequence_->blocks.reserve(20));
  sequence_->blocks.set_filled(20);
  guarantees_.withhold_all(running_);
  EXPECT_EQ(guarantees_.withheld()[0], 0) << "no guarantee yet";
  guarantees_.grant(*sequence_);
  guarantees_.withhold_all(running_);
  EXPECT_EQ(guarantees_.withheld()[0], 3);
  EXPECT_EQ(guarantees_.reserved(running_, 0), 3);
  guarantees_.hand_out(*sequence_);
  EXPECT_EQ(guarantees_.withheld()[0], 0);
}

TEST_F(GuaranteedBlocksTest, AreNeverMoreThanThePool) {
  EXPECT_EQ(guarantees_.blocks_max(*sequence_, 0), 10) << "its length has no limit";
  sequence_->rows_max = 17;
  EXPECT_EQ(guarantees_.blocks_max(*sequence_, 0), 2);
}

}  // namespace
}  // namespace ingot
