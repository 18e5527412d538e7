// TokenRules: joins a matcher's mask, the end tokens and the tokens that close reasoning.
#include "runtime/token_rules.h"

#include <algorithm>
#include <bit>
#include <new>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "constraint/constraint.h"
#include "runtime/draft/forced_run.h"

namespace ingot {

namespace {

std::uint32_t bit(std::int32_t id) { return std::uint32_t{1} << (id % 32); }

bool has(std::span<const std::uint32_t> mask, std::int32_t id) {
  return id / 32 < std::ssize(mask) && (at(mask, id / 32) & bit(id)) != 0;
}

bool is_none(std::span<const std::uint32_t> mask) {
  return std::all_of(mask.begin(), mask.end(), [](std::uint32_t word) { return word == 0; });
}

/// The only id of a mask; -1 if it has none or several.
std::int32_t only_id(std::span<const std::uint32_t> mask) {
  std::int32_t only = -1;
  for (std::size_t word = 0; word < mask.size(); ++word) {
    if (mask[word] == 0) continue;
    if (only >= 0 || !std::has_single_bit(mask[word])) return -1;
    only = static_cast<std::int32_t>(32 * word) + std::countr_zero(mask[word]);
  }
  return only;
}

}  // namespace

std::optional<Matcher> begin_matcher(const Request& request) {
  if (request.constraint == nullptr) return std::nullopt;
  std::optional<Matcher> matcher(std::in_place, request.constraint->grammar);
  const std::span<const std::int32_t> prompt = request.prompt;
  std::int64_t tokens = 0;
  for (const std::int32_t id : prompt.last(to_size(request.continued))) {
    if (!matcher->accept(id)) {
      throw Error(ErrorCode::kInvalid, cat("continued: the constraint does not allow token ", id,
                                           " after ", tokens, " tokens of the text"));
    }
    ++tokens;
  }
  if (matcher->may_continue()) static_cast<void>(matcher->mask());
  return matcher;
}

TokenRules::TokenRules(const Request& request, const std::optional<Matcher>& matcher)
    : request_(&request), matcher_(matcher) {
  if (request.reasoning.tokens >= 0) watch_.emplace(request.reasoning);
}

/// The tokens that close the reasoning come first, where the constraint allows them. It allows none
/// inside a character.
void TokenRules::choose(std::uint64_t index) {
  if (!must_choose()) return;
  if (is_broken_) throw std::bad_alloc();
  mask_ = {};
  forced_ = watch_ ? watch_->forced() : -1;
  if (matcher_) {
    mask_ = matcher_->mask();
    if (forced_ >= 0 && !has(mask_, forced_)) {
      watch_->refuse_forced();
      forced_ = -1;
    }
  }
  is_closing_ = forced_ >= 0;
  if (matcher_ && !is_closing_) {
    if (matcher_->is_complete()) add_ends(index);
    forced_ = only_id(mask_);
  }
  is_chosen_ = true;
}

/// Adds the end tokens of a complete text to the mask, or bans them before `min_tokens`. If only
/// they are left, the text ends before.
void TokenRules::add_ends(std::uint64_t index) {
  const auto& ends = request_->sampling.end_ids;
  std::size_t words = mask_.size();
  for (const std::int32_t id : ends) words = std::max(words, to_size(id / 32 + 1));
  with_ends_.assign(words, 0);
  std::copy(mask_.begin(), mask_.end(), with_ends_.begin());
  const bool waits = index < static_cast<std::uint64_t>(request_->sampling.min_tokens);
  for (const std::int32_t id : ends) at(with_ends_, id / 32) &= ~bit(id);
  if (!waits || is_none(with_ends_)) {
    for (const std::int32_t id : ends) at(with_ends_, id / 32) |= bit(id);
  }
  mask_ = with_ends_;
}

std::int64_t TokenRules::forced_run(std::span<std::int32_t> ids) noexcept {
  if (!may_force()) return 0;
  try {
    return ingot::forced_run(*matcher_, matcher_->trie(), ids);
  } catch (...) {
    is_broken_ = true;
    return 0;
  }
}

bool TokenRules::ends_at(std::int32_t id) const {
  const auto& ends = request_->sampling.end_ids;
  if (is_closing_ || !is_complete()) return false;
  return std::find(ends.begin(), ends.end(), id) != ends.end();
}

bool TokenRules::accept(std::int32_t id) {
  if (matcher_ && !matcher_->accept(id)) return false;
  is_chosen_ = is_closing_ = false;
  mask_ = {};
  forced_ = -1;
  return true;
}

}  // namespace ingot
