// RepeatHistory: marks the tokens at which sequence breakers end.
#include "runtime/sampling/repeats.h"

#include "runtime/sampling/sampling_params.h"
#include "text/tokenizer/tokenizer.h"

namespace ingot {

void RepeatHistory::reserve(std::size_t tokens) {
  tokens_.reserve(tokens);
  if (tokenizer_ != nullptr) text_.reserve(kBreakerBytesMax + tokenizer_->piece_bytes_max());
}

void RepeatHistory::add(std::int32_t id) {
  if (id < 0) {  // an embedding: no text and no repetition goes over it
    text_.clear();
    tokens_.push_back(kBreakerToken);
    return;
  }
  tokens_.push_back(ends_breaker(id) ? kBreakerToken : id);
}

std::span<const std::int32_t> RepeatHistory::last(std::int64_t count) const {
  const std::span<const std::int32_t> all(tokens_);
  return count < 0 ? all : all.last(std::min(all.size(), to_size(count)));
}

bool RepeatHistory::ends_breaker(std::int32_t id) {
  if (tokenizer_ == nullptr) return false;
  const std::size_t before = text_.size();
  text_ += tokenizer_->piece(id);
  const auto ends_here = [&](const std::string& breaker) {
    const std::size_t from = before - std::min(before, breaker.size() - 1);
    return text_.find(breaker, from) != std::string::npos;
  };
  const bool ends = std::any_of(breakers_.begin(), breakers_.end(), ends_here);
  text_.erase(0, text_.size() - std::min(text_.size(), kBreakerBytesMax - 1));
  return ends;
}

}  // namespace ingot
