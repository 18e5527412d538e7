// Who is too late, and who cannot be in time any more.
#include <algorithm>
#include <vector>

#include "runtime/scheduler.h"

namespace ingot {

namespace {

/// Prompts in front of a sequence that are looked at: they are compared with each other.
constexpr std::size_t kPromptsMax = 128;

/// A prompt, and how many of its first rows are there.
struct Prompt {
  const Sequence* sequence = nullptr;
  std::int64_t there = 0;
};

bool shares_more(const Prompt& a, const Prompt& b) {
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
std::int64_t least_rows(std::vector<Prompt>& prompts) {
  std::sort(prompts.begin(), prompts.end(), shares_more);
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

/// Of other tenants only those count that run or ran: whose turn comes next changes with each step.
LeastSeconds Scheduler::least_seconds(const Sequence& s) {
  std::vector<Prompt> prompts;
  if (s.fork_of == nullptr) prompts.push_back({&s, find_prefix(s).rows});
  for (const Sequence* other : running_) {
    const bool is_prompt = other->missing() > 1 && !other->paused;
    if (is_prompt) prompts.push_back({other, other->computed + other->in_flight});
  }
  bool is_behind = false;
  waiting_.visit([&](Sequence& other) {
    if (&other == &s) is_behind = true;
    const bool is_own = other.turn.tenant == s.turn.tenant;
    const bool is_before = other.admissions > 0 || (is_own && !is_behind);
    if (is_before && may_begin(other)) prompts.push_back({&other, find_prefix(other).rows});
    return prompts.size() < kPromptsMax;
  });
  const double first =
      static_cast<double>(least_rows(prompts)) * times_.least_row_seconds(limits_.rows);
  const auto tokens = static_cast<double>(s.turn.tokens_least - 1);
  return {.first_token = first, .end = first + tokens * times_.decode_seconds(1)};
}

std::span<const Dropped> Scheduler::late(double now) {
  dropped_.clear();
  if (timed_ == 0) return dropped_;
  const auto look = [&](Sequence& s) {
    if (now > s.turn.begin_by) {
      dropped_.push_back({&s, Dropped::Reason::kQueue});
    } else if (now > s.turn.first_token_by) {
      dropped_.push_back({&s, Dropped::Reason::kFirstToken});
    } else if (now > s.turn.end_by) {
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
