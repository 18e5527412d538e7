// TokenRules: which tokens may come next in a choice, by its constraint and its reasoning budget.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "constraint/matcher.h"
#include "runtime/reasoning_watch.h"
#include "runtime/request.h"

namespace ingot {

/// Returns the matcher of a request's constraint after the tokens that the request continues; empty
/// without a constraint. Prepares the first mask, which is the slowest. For the submitting thread.
///
/// Errors: Error{kInvalid} if the constraint does not allow a continued token; std::bad_alloc.
std::optional<Matcher> begin_matcher(const Request& request);

/// Follows one choice token by token. One thread at a time may use it.
class TokenRules {
 public:
  /// `request` has the model's end tokens, and must outlive this object. `matcher`: the result of
  /// `begin_matcher`.
  TokenRules(const Request& request, const std::optional<Matcher>& matcher);
  TokenRules(TokenRules&&) = default;
  TokenRules& operator=(TokenRules&&) = default;

  /// Finds what may come next as token number `index`, until the next `accept`. Does nothing if
  /// this is known.
  ///
  /// Cost: one Matcher::mask. Errors: std::bad_alloc.
  void choose(std::uint64_t index);
  /// Returns whether `choose` has anything to do.
  bool must_choose() const { return !is_chosen_ && (matcher_ || watch_); }
  /// Returns the ids that may come next, as SampleRow::mask; empty: no constraint.
  std::span<const std::uint32_t> mask() const { return mask_; }
  /// Returns the only id that may come next; -1: several may.
  std::int32_t forced() const { return forced_; }

  /// Writes the tokens that the constraint probably forces next, and returns their number: see
  /// ingot::forced_run. Call it before `choose`. Throws nothing: if it fails, the next `choose`
  /// throws, because the matcher's text is lost.
  std::int64_t forced_run(std::span<std::int32_t> ids) noexcept;
  /// Returns whether `forced_run` may find tokens.
  bool may_force() const { return matcher_ && !is_chosen_ && !is_broken_; }

  /// Returns whether a token ends the text here, so that it is no part of it.
  bool ends_at(std::int32_t id) const;
  /// Adds a token. Returns false, and changes nothing, if the constraint does not allow it.
  [[nodiscard]] bool accept(std::int32_t id);
  /// Adds the text of an accepted token. Call it for each token if there is a tokenizer.
  void add_text(std::int32_t id, std::string_view text) {
    if (watch_) watch_->add(id, text);
  }
  /// Returns whether the text may end here.
  bool is_complete() const { return !matcher_ || matcher_->is_complete(); }
  /// Returns whether the text is complete and nothing may follow.
  bool is_over() const { return matcher_ && !matcher_->may_continue(); }
  /// Returns whether what may come next depends on the token before.
  bool needs_last_token() const { return matcher_ || (watch_ && watch_->may_force()); }

 private:
  void add_ends(std::uint64_t index);

  const Request* request_;
  std::optional<Matcher> matcher_;
  std::optional<ReasoningWatch> watch_;
  bool is_chosen_ = false;
  bool is_broken_ = false;                 ///< whether a `forced_run` failed
  bool is_closing_ = false;                ///< whether the watch forces `forced_`
  std::span<const std::uint32_t> mask_{};  ///< in `matcher_` or in `with_ends_`
  std::int32_t forced_ = -1;
  std::vector<std::uint32_t> with_ends_;  ///< mask of a complete text, with its end tokens
};

}  // namespace ingot
