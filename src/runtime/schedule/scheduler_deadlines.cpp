// Who is too late, and who cannot be in time any more.
#include <algorithm>
#include <vector>

#include "runtime/schedule/scheduler.h"

namespace ingot {

namespace {

/// Prompts in front of a sequence that are looked at: they are compared with each other.
constexpr std::size_t kComparedMax = 128;

/// A prompt, and how many of its first rows are there.
struct Prompt {
  const Sequence* sequence = nullptr;
  std::int64_t there = 0;
};

/// By their tokens.
bool comes_first(const Prompt& a, const Prompt& b) {
  const auto &x = a.sequence->tokens, &y = b.sequence->tokens;
  return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end());
}

std::int64_t common_rows(const Sequence& a, const Sequence& b) {
  const auto ends =
      std::mismatch(a.tokens.begin(), a.tokens.end(), b.tokens.begin(), b.tokens.end());
  return ends.first - a.tokens.begin();
}

/// Rows that are missing of these, what several could share counted once: once they are sorted,
/// nobody shares more with one than its neighbour.
std::int64_t min_rows(std::vector<Prompt>& prompts) {
  std::sort(prompts.begin(), prompts.end(), comes_first);
  std::int64_t rows = 0;
  const Sequence* before = nullptr;
  for (const Prompt& prompt : prompts) {
    const Sequence& s = *prompt.sequence;
    const bool shares = before != nullptr && s.reads_cache && s.given_rows() == 0;
    const std::int64_t there =
        std::max(prompt.there, shares ? common_rows(*before, s) : std::int64_t{0});
    rows += s.length() - std::min(there, s.length() - 1);  // the last one is nobody else's
    before = &s;
  }
  return rows;
}

}  // namespace

/// Calls `visit` with `s`, and with those that are sure to be computed before it: prompts under
/// way, who gave way, and who is in front of it in the line. Of other tenants none that never ran:
/// whose turn comes next changes with each step.
void Scheduler::visit_before(const Sequence& s, FunctionRef<bool(const Sequence&)> visit) const {
  if (!visit(s)) return;
  for (const Sequence* other : running_) {
    const bool is_prompt = other->missing() > 1 && !other->paused;
    if (is_prompt && !visit(*other)) return;
  }
  bool is_behind = false;
  waiting_.visit([&](Sequence& other) {
    is_behind = is_behind || &other == &s;
    const bool is_own = other.terms.tenant == s.terms.tenant;
    const bool is_before = other.admissions > 0 || (is_own && !is_behind);
    return !is_before || !may_begin(other) || visit(other);
  });
}

MinSeconds Scheduler::min_seconds(const Sequence& s, double now) {
  const double row_seconds = times_.min_row_seconds(limits_.rows);
  if (row_seconds == 0) return {};
  const auto seconds = [&](std::int64_t rows) {
    const double first = static_cast<double>(rows) * row_seconds;
    const auto tokens = static_cast<double>(s.terms.tokens_min - 1);
    return MinSeconds{.first_token = first, .end = first + tokens * times_.decode_seconds(1)};
  };
  std::int64_t most = 0;
  visit_before(s, [&](const Sequence& other) {
    most += other.missing();
    return true;
  });
  const MinSeconds whole = seconds(most);
  if (now + whole.first_token <= s.terms.first_token_by && now + whole.end <= s.terms.end_by) {
    return whole;
  }
  std::vector<Prompt> prompts;
  std::int64_t forks = 0;  // each has one row of its own
  visit_before(s, [&](const Sequence& other) {
    const std::int64_t there =
        other.admitted ? other.computed + other.in_flight : find_prefix(other).rows;
    forks += other.fork_of != nullptr ? 1 : 0;
    if (other.fork_of == nullptr) prompts.push_back({&other, there});
    return prompts.size() < kComparedMax;
  });
  return seconds(min_rows(prompts) + forks);
}

std::span<const Dropped> Scheduler::late(double now) {
  dropped_.clear();
  if (timed_ == 0) return dropped_;
  const auto look = [&](Sequence& s) {
    if (now > s.terms.begin_by) {
      dropped_.push_back({&s, Dropped::Reason::kQueue});
    } else if (now > s.terms.first_token_by) {
      dropped_.push_back({&s, Dropped::Reason::kFirstToken});
    } else if (now > s.terms.end_by) {
      dropped_.push_back({&s, Dropped::Reason::kEnd});
    }
  };
  for (Sequence* s : running_) look(*s);
  waiting_.visit([&](Sequence& s) {
    look(s);
    return true;
  });
  return dropped_;
}

}  // namespace ingot
