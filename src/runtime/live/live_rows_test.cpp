// LiveRows: what requests become, and in how few pieces embeddings lie.
#include "runtime/live/live_rows.h"

#include <gtest/gtest.h>

#include <numeric>

namespace ingot {
namespace {

constexpr std::int64_t kCols = 2;

std::shared_ptr<const LiveToken> token() {
  return std::make_shared<const LiveToken>(std::make_shared<Doorbell>());
}

/// Rows whose values count up from `first`.
Request rows_request(std::int64_t rows, float first) {
  std::vector<float> values(static_cast<std::size_t>(rows * kCols));
  std::iota(values.begin(), values.end(), first);
  Request request;
  append_embeddings(request, std::move(values), kCols);
  return request;
}

std::vector<float> values_of(const Request& request) {
  std::vector<float> values;
  for (const EmbeddingRows& e : request.embeddings) {
    values.insert(values.end(), e.values.get(), e.values.get() + e.rows * e.cols);
  }
  return values;
}

TEST(LiveRows, MakeEachRequestOneWithAllRows) {
  LiveRows live(token());
  Request first = rows_request(2, 0);
  first.prompt.push_back(5);
  live.extend(first);
  EXPECT_EQ(first.prompt, (std::vector<std::int32_t>{-1, -1, 5}));
  live.add_tokens(std::vector<std::int32_t>{7, 8});
  Request next = rows_request(1, 4);
  next.hidden = HiddenRows::kAll;
  next.prompt_logprobs_from = 1;
  live.extend(next);
  EXPECT_EQ(next.prompt, (std::vector<std::int32_t>{-1, -1, 5, 7, 8, -1}));
  ASSERT_EQ(next.embeddings.size(), 2u);
  EXPECT_EQ(next.embeddings[1].first, 5);
  EXPECT_EQ(values_of(next), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(next.hidden, HiddenRows::kRange);
  EXPECT_EQ(next.hidden_range.first, 5);
  EXPECT_EQ(next.hidden_range.end, 6);
  EXPECT_EQ(next.prompt_logprobs_from, 6);
  EXPECT_EQ(next.live, first.live);
  EXPECT_NE(next.live, nullptr);
}

TEST(LiveRows, LieInFewPiecesHoweverTheyCame) {
  LiveRows live(token());
  Request request;
  for (int i = 0; i < 1000; ++i) {
    request = rows_request(1, static_cast<float>(i * kCols));
    live.extend(request);
  }
  EXPECT_LE(request.embeddings.size(), 6u);
  std::vector<float> expected(1000 * kCols);
  std::iota(expected.begin(), expected.end(), 0.0f);
  EXPECT_EQ(values_of(request), expected);
}

/// An ended request may still read rows that were dropped: their memory does not change.
TEST(LiveRows, DroppedRowsKeepTheirValuesForEndedRequests) {
  LiveRows live(token());
  Request before = rows_request(6, 0);
  live.extend(before);
  live.truncate(4);
  EXPECT_EQ(live.rows(), 4);
  Request after = rows_request(3, 100);
  live.extend(after);
  EXPECT_EQ(values_of(before), (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(values_of(after),
            (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 100, 101, 102, 103, 104, 105}));
  live.truncate(0);
  Request empty = rows_request(1, 3);
  live.extend(empty);
  EXPECT_EQ(values_of(empty), (std::vector<float>{3, 4}));
}

}  // namespace
}  // namespace ingot
