// Tests that tokens are tried once, and that racing threads get equal answers.
#include "text/tokenizer/whole_pieces.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace ingot::testing {
namespace {

StringTable three_pieces() {
  StringTable pieces;
  for (const char* text : {"a", "ab", "abc"}) pieces.add(text);
  return pieces;
}

PieceMap all_of(const StringTable& pieces) {
  PieceMap ids(pieces, pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) ids.insert(static_cast<std::int32_t>(i));
  return ids;
}

TEST(WholePieces, AskOnceForEachToken) {
  const StringTable pieces = three_pieces();
  const PieceMap ids = all_of(pieces);
  const WholePieces whole(ids, pieces.size());
  int asked = 0;
  const auto is_odd = [&](std::int32_t id) {
    ++asked;
    return id % 2 == 1;
  };
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(whole.find("a", is_odd), -1);
    EXPECT_EQ(whole.find("ab", is_odd), 1);
    EXPECT_EQ(whole.find("b", is_odd), -1);
  }
  EXPECT_EQ(asked, 2);
}

TEST(WholePieces, ThreadsFindTheSame) {
  const StringTable pieces = three_pieces();
  const PieceMap ids = all_of(pieces);
  const WholePieces whole(ids, pieces.size());
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 1'000; ++i) {
          const auto is_first = [](std::int32_t id) { return id == 0; };
          wrong += whole.find("a", is_first) != 0;
          wrong += whole.find("abc", is_first) != -1;
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace ingot::testing
