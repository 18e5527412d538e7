// LiveRows: collects rows in few pieces of memory, because a step's part lies in one piece.
#include "runtime/live/live_rows.h"

#include <algorithm>

#include "base/check.h"
#include "base/index.h"

namespace ingot {

namespace {

/// Bounds on the rows of a chunk, which is as long as the sequence between them. Small chunks make
/// many parts if the rows are computed again; large ones waste memory.
constexpr std::int64_t kChunkRowsMin = 64, kChunkRowsMax = 1024;

}  // namespace

void LiveRows::extend(Request& request) {
  const std::int64_t first = rows();
  try {
    std::int64_t next = 0;
    const auto add_ids = [&](std::int64_t end) {
      tokens_.insert(tokens_.end(), request.prompt.begin() + next, request.prompt.begin() + end);
      next = end;
    };
    for (const EmbeddingRows& e : request.embeddings) {
      add_ids(e.first);
      append(e);
      next = e.end();
    }
    add_ids(std::ssize(request.prompt));
    request.prompt = tokens_;
    request.embeddings = embeddings_;
  } catch (...) {
    truncate(first);
    throw;
  }
  request.live = token_;
  if (request.hidden == HiddenRows::kAll) {
    request.hidden = HiddenRows::kRange;
    request.hidden_range = {first, rows()};
  } else if (request.hidden == HiddenRows::kRange) {
    request.hidden_range.first += first;
    request.hidden_range.end += first;
  }
  request.prompt_logprobs_from += first;
}

void LiveRows::add_tokens(std::span<const std::int32_t> ids) {
  tokens_.insert(tokens_.end(), ids.begin(), ids.end());
}

void LiveRows::truncate(std::int64_t rows) {
  INGOT_CHECK(rows >= 0 && rows <= this->rows(), rows, " of ", this->rows(), " rows");
  tokens_.resize(to_size(rows));
  while (!embeddings_.empty() && embeddings_.back().end() > rows) {
    EmbeddingRows& last = embeddings_.back();
    if (last.first >= rows) {
      embeddings_.pop_back();
    } else {
      last.rows = rows - last.first;
    }
  }
}

/// Appends to the last piece of embeddings if it ends where the chunk has room; else begins a
/// piece.
void LiveRows::append(const EmbeddingRows& more) {
  const std::int64_t first = rows();
  const bool goes_on = ends_in_chunk(more.cols) && chunk_.used + more.rows <= chunk_.capacity;
  if (!goes_on) {
    embeddings_.push_back(more);
    embeddings_.back().first = first;
  }
  tokens_.resize(tokens_.size() + to_size(more.rows), kGivenRow);
  if (!goes_on && more.rows >= kChunkRowsMin) return;
  if (!goes_on) {
    const std::int64_t capacity = std::clamp(first, kChunkRowsMin, kChunkRowsMax);
    const auto memory = std::make_shared<std::vector<float>>(to_size(capacity * more.cols), 0.0f);
    chunk_ = {.values = {memory, memory->data()}, .capacity = capacity};
    embeddings_.back().values = chunk_.values;
    embeddings_.back().rows = 0;
  }
  std::copy_n(more.values.get(), more.rows * more.cols,
              chunk_.values.get() + chunk_.used * more.cols);
  chunk_.used += more.rows;
  embeddings_.back().rows += more.rows;
}

/// Whether the sequence's last row is the last one that the chunk holds.
bool LiveRows::ends_in_chunk(std::int64_t cols) const {
  if (embeddings_.empty()) return false;
  const EmbeddingRows& last = embeddings_.back();
  return last.end() == rows() && last.cols == cols &&
         last.values.get() + last.rows * cols == chunk_.values.get() + chunk_.used * cols;
}

}  // namespace ingot
