// min_seconds: counts the missing rows of a sequence and of the prompts that come before it.
#include "runtime/schedule/deadlines.h"

#include <algorithm>
#include <vector>

namespace ingot {

namespace {

/// Number of prompts that are compared with each other. More would take longer than a step.
constexpr std::size_t kComparedMax = 128;

/// A prompt, and how many of its first rows are computed or cached.
struct Prompt {
  const Sequence* sequence = nullptr;
  std::int64_t rows_there = 0;
  std::int64_t rows_missing() const { return sequence->length() - rows_there; }
};

bool has_smaller_tokens(const Prompt& a, const Prompt& b) {
  const auto &x = a.sequence->tokens, &y = b.sequence->tokens;
  return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end());
}

/// Number of missing rows of all prompts. Counts shared rows once: in sorted order, no prompt
/// shares more rows with any prompt before it than with the last one before it.
std::int64_t missing_rows(std::vector<Prompt>& prompts) {
  std::sort(prompts.begin(), prompts.end(), has_smaller_tokens);
  std::int64_t rows = 0;
  const Sequence* before = nullptr;
  for (const Prompt& prompt : prompts) {
    const Sequence& s = *prompt.sequence;
    const bool shares = before != nullptr && s.reads_cache;
    const std::int64_t shared = shares ? std::min(common_rows(*before, s), s.token_rows()) : 0;
    const std::int64_t there = std::max(prompt.rows_there, shared);
    rows += s.length() - std::min(there, s.length() - 1);  // each computes its last row itself
    before = &s;
  }
  return rows;
}

/// Removes prompts that `s`, with `rows` missing rows, may overtake: prompts with more missing rows
/// or a lower priority. Removes at most `count` prompts, the longest first.
void remove_overtaken(std::vector<Prompt>& prompts, const Sequence& s, std::int64_t rows,
                      std::int64_t count) {
  const auto others = std::partition(prompts.begin(), prompts.end(), [&](const Prompt& p) {
    return p.rows_missing() > rows || p.sequence->terms.priority > s.terms.priority;
  });
  std::sort(prompts.begin(), others,
            [](const Prompt& a, const Prompt& b) { return a.rows_missing() > b.rows_missing(); });
  prompts.erase(prompts.begin(), prompts.begin() + std::min(count, others - prompts.begin()));
}

/// Calls `visit` with `s` and each sequence that is admitted before `s`: running prompts, preempted
/// sequences, and earlier sequences of the tenant of `s`. Ends when `visit` returns false. Leaves
/// out new sequences of other tenants, because their order changes with each step.
void visit_before(const DeadlineView& view, const Sequence& s,
                  FunctionRef<bool(const Sequence&)> visit) {
  if (!visit(s)) return;
  for (const Sequence* other : view.running) {
    const bool is_prompt = other->missing() > 1 && !other->paused;
    if (is_prompt && !visit(*other)) return;
  }
  bool is_behind = false;
  view.waiting.visit([&](const Sequence& other) {
    is_behind = is_behind || &other == &s;
    const bool is_own = other.terms.tenant == s.terms.tenant;
    const bool is_before = other.admissions > 0 || (is_own && !is_behind);
    return !is_before || !other.may_begin() || visit(other);
  });
}

}  // namespace

MinSeconds min_seconds(const DeadlineView& view, const Sequence& s, double now) {
  const double row_seconds = view.times.min_row_seconds(view.rows_max);
  if (row_seconds == 0) return {};
  const auto seconds = [&](std::int64_t rows) {
    const double first = static_cast<double>(rows) * row_seconds;
    const auto tokens = static_cast<double>(s.terms.tokens_min - 1);
    const double steps = tokens / (1 + view.drafts_max);
    return MinSeconds{.first_token = first, .end = first + steps * view.times.decode_seconds(1)};
  };
  std::int64_t rows = 0;
  visit_before(view, s, [&](const Sequence& other) {
    rows += other.missing();
    return true;
  });
  const MinSeconds all = seconds(rows);
  if (now + all.first_token <= s.terms.first_token_by && now + all.end <= s.terms.end_by) {
    return all;
  }
  std::vector<Prompt> prompts;
  std::int64_t forks = 0;  // each has one row of its own
  visit_before(view, s, [&](const Sequence& other) {
    forks += other.fork_of != nullptr ? 1 : 0;
    if (other.fork_of == nullptr) {
      prompts.push_back({&other, other.admitted ? other.next_row() : view.cached_rows(other)});
    }
    return prompts.size() < kComparedMax;
  });
  const std::int64_t own = s.fork_of != nullptr ? 1 : prompts.front().rows_missing();
  remove_overtaken(prompts, s, own, view.overtaken_max);
  return seconds(missing_rows(prompts) + forks);
}

}  // namespace ingot
