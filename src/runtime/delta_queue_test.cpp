// DeltaQueue: deltas come out as they went in, whichever the reader fetches together.
#include "runtime/delta_queue.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace ingot {
namespace {

/// Number i of a sequence of pieces of every form.
Delta piece(int i) {
  Delta delta;
  delta.ids.resize(static_cast<std::size_t>(i % 4));
  for (std::size_t k = 0; k < delta.ids.size(); ++k) delta.ids[k] = 10 * i + static_cast<int>(k);
  delta.text = std::string(static_cast<std::size_t>(i % 7), static_cast<char>('a' + i % 26));
  for (std::int32_t id : delta.ids) {
    if (i % 3 != 0) continue;
    std::vector<TokenScore> top(static_cast<std::size_t>(i % 5), {.id = id + 1, .logprob = -2});
    delta.logprobs.push_back({.token = {.id = id, .logprob = -1}, .top = std::move(top)});
  }
  return delta;
}

/// What nothing may be left of.
Delta used() { return {.ids = {-1, -2, -3, -4, -5}, .text = "used before", .logprobs = {{}, {}}}; }

std::optional<Delta> try_pop(DeltaQueue& queue) {
  std::optional<Delta> delta(used());
  return queue.try_pop(*delta) ? std::move(delta) : std::nullopt;
}

std::optional<Delta> pop(DeltaQueue& queue) {
  std::optional<Delta> delta(used());
  return queue.pop(*delta) ? std::move(delta) : std::nullopt;
}

void expect_piece(const std::optional<Delta>& got, int i) {
  ASSERT_TRUE(got.has_value()) << i;
  const Delta want = piece(i);
  EXPECT_EQ(got->ids, want.ids) << i;
  EXPECT_EQ(got->text, want.text) << i;
  ASSERT_EQ(got->logprobs.size(), want.logprobs.size()) << i;
  for (std::size_t k = 0; k < want.logprobs.size(); ++k) {
    EXPECT_EQ(got->logprobs[k].token.id, want.logprobs[k].token.id);
    ASSERT_EQ(got->logprobs[k].top.size(), want.logprobs[k].top.size());
    for (const TokenScore& score : got->logprobs[k].top) {
      EXPECT_EQ(score.id, want.logprobs[k].token.id + 1);
    }
  }
}

TEST(DeltaQueue, PiecesComeOneByOneHoweverManyWereFetched) {
  std::mt19937 random(7);
  DeltaQueue queue(16);
  int pushed = 0, popped = 0;
  for (int round = 0; round < 2000; ++round) {
    for (auto n = random() % 6; n > 0 && queue.try_push(piece(pushed)); --n) ++pushed;
    for (auto n = random() % 6; n > 0 && popped < pushed; --n)
      expect_piece(try_pop(queue), popped++);
    ASSERT_EQ(queue.size(), static_cast<std::size_t>(pushed - popped));
  }
  while (popped < pushed) expect_piece(pop(queue), popped++);
  EXPECT_FALSE(try_pop(queue).has_value());
  EXPECT_GT(popped, 3000);
}

/// What its reader has fetched and not popped is not popped.
TEST(DeltaQueue, HoldsNoMoreThanItsCapacity) {
  DeltaQueue queue(3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(queue.try_push(piece(i)));
  Delta refused = piece(3);
  EXPECT_FALSE(queue.try_push(std::move(refused)));
  EXPECT_EQ(refused.ids, piece(3).ids) << "as it was";
  expect_piece(try_pop(queue), 0);
  EXPECT_EQ(queue.size(), 2u);
  EXPECT_TRUE(queue.try_push(piece(3)));
  EXPECT_FALSE(queue.try_push(piece(4)));
  for (int i = 1; i < 4; ++i) expect_piece(try_pop(queue), i);
}

TEST(DeltaQueue, ClosingRefusesButDrains) {
  DeltaQueue queue(4);
  ASSERT_TRUE(queue.try_push(piece(7)));
  ASSERT_TRUE(queue.try_push(piece(8)));
  queue.close();
  EXPECT_TRUE(queue.is_closed());
  EXPECT_FALSE(queue.try_push(piece(9)));
  expect_piece(pop(queue), 7);
  expect_piece(pop(queue), 8);
  EXPECT_FALSE(pop(queue).has_value());
  EXPECT_FALSE(try_pop(queue).has_value());
}

TEST(DeltaQueue, OneThreadPushesAndAnotherPops) {
  DeltaQueue queue(8);
  constexpr int kPieces = 20000;
  std::thread pusher([&] {
    for (int i = 0; i < kPieces; ++i) {
      while (!queue.try_push(piece(i))) std::this_thread::yield();
    }
    queue.close();
  });
  for (int i = 0; i < kPieces; ++i) expect_piece(pop(queue), i);
  EXPECT_FALSE(pop(queue).has_value());
  pusher.join();
}

TEST(DeltaQueue, ClosingWakesWhoWaits) {
  DeltaQueue queue(1);
  std::thread waiting([&] { EXPECT_FALSE(pop(queue).has_value()); });
  queue.close();
  waiting.join();
}

}  // namespace
}  // namespace ingot
