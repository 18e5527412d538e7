// ReasoningWatch: finds the block's tags in the text of the tokens.
#include "runtime/reasoning_watch.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/index.h"

namespace ingot {

ReasoningWatch::ReasoningWatch(const ReasoningBudget& budget) : budget_(&budget) {
  INGOT_CHECK(budget.tokens >= 0 && !budget.end.empty() && !budget.close.empty(),
              "a budget that no token closes");
  state_ = budget.open ? State::kInside : State::kStart;
  if (!budget.open && budget.begin.empty()) stop();
}

void ReasoningWatch::stop() {
  state_ = State::kOutside;
  held_.clear();
}

std::int32_t ReasoningWatch::forced() const {
  if (state_ != State::kInside || tokens_ < budget_->tokens) return -1;
  return budget_->close[closed_];
}

void ReasoningWatch::add(std::int32_t id, std::string_view text) {
  if (state_ == State::kOutside) return;
  if (state_ == State::kStart) return begin(text);
  if (id == forced()) {
    if (++closed_ == budget_->close.size()) stop();
    return;
  }
  closed_ = 0;  // a continued text may have other tokens here, because its budget was another one
  ++tokens_;
  look_for_end(text);
}

/// Looks for the tag that opens the block, behind white space at most.
void ReasoningWatch::begin(std::string_view text) {
  held_ += text;
  held_.erase(0, std::min(held_.size(), held_.find_first_not_of(" \t\r\n")));
  const std::string_view tag = budget_->begin;
  if (held_.starts_with(tag)) {
    state_ = State::kInside;
    look_for_end(std::exchange(held_, {}).substr(tag.size()));
  } else if (!tag.starts_with(held_)) {
    stop();
  }
}

/// Looks for the tag that closes the block. Keeps only text that may be the beginning of this tag.
void ReasoningWatch::look_for_end(std::string_view text) {
  held_ += text;
  if (held_.find(budget_->end) != std::string::npos) return stop();
  held_.erase(0, held_.size() - std::min(held_.size(), budget_->end.size() - 1));
}

}  // namespace ingot
