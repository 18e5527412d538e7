// LiveRows: all rows of a live sequence, so that each request can begin with them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/live/live_token.h"
#include "runtime/request.h"

namespace ingot {

/// The rows that the requests of a live sequence gave and drew so far. One thread at a time.
class LiveRows {
 public:
  explicit LiveRows(std::shared_ptr<const LiveToken> token) : token_(std::move(token)) {}

  std::int64_t rows() const { return std::ssize(tokens_); }
  /// Appends the prompt of `request`, and makes `request` the next request of the live sequence:
  /// its prompt then has all rows. What it wants of its own prompt (hidden states, scores) stays
  /// the same. All earlier requests must have ended. Errors: std::bad_alloc, with nothing appended.
  void extend(Request& request);
  /// Appends tokens, which the last request drew.
  void add_tokens(std::span<const std::int32_t> ids);
  /// Drops all rows but the first `rows`.
  void truncate(std::int64_t rows);

 private:
  /// Memory for rows of embeddings. Requests may read its first `used` rows, so they never change.
  struct Chunk {
    std::shared_ptr<float> values;
    std::int64_t capacity = 0;  ///< number of rows
    std::int64_t used = 0;
  };

  void append(const EmbeddingRows& rows);
  bool ends_in_chunk(std::int64_t cols) const;

  std::shared_ptr<const LiveToken> token_;
  std::vector<std::int32_t> tokens_;  ///< as Request::prompt
  std::vector<EmbeddingRows> embeddings_;
  Chunk chunk_;  ///< takes the next embeddings
};

}  // namespace ingot
