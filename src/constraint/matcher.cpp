// Matcher: follows one text through a grammar, token by token, and says which tokens may come next.
#include "constraint/matcher.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/index.h"
#include "constraint/match/machine.h"
#include "constraint/match/mask_walk.h"
#include "constraint/match/matcher_grammar.h"

namespace ingot {

using match::Machine;
using match::Takers;
using match::Thread;

namespace {

/// Alternatives kept behind a token. Each of them can be finished, so leaving out others only
/// narrows what a text can become.
constexpr std::size_t kThreadsMax = 1024;
/// Alternatives kept behind a byte inside a token.
constexpr std::size_t kThreadsInsideMax = 4096;
constexpr std::size_t kMasksKept = 64;

}  // namespace

struct Matcher::State {
  /// The threads behind a token: a range in `threads`.
  struct Set {
    std::uint32_t first = 0, last = 0;
  };
  struct Accepted {
    std::uint32_t set = 0;
    Machine::Marks marks{};  ///< the machine's size before the token
    std::uint32_t sets = 0;  ///< number of sets before the token
  };
  struct KnownMask {
    std::uint32_t set = 0;
    std::vector<std::uint32_t> bits{};
  };

  explicit State(std::shared_ptr<const MatcherGrammar> shared)
      : grammar(std::move(shared)), machine(*grammar) {
    const Thread begin = machine.start();
    current = intern({&begin, 1});
  }

  std::span<const Thread> threads_of(std::uint32_t set) const {
    return std::span(threads).subspan(sets[set].first, sets[set].last - sets[set].first);
  }
  std::uint32_t intern(std::span<const Thread> found);
  void shrink_sets(std::uint32_t count);
  bool advance(std::string_view bytes, Takers takers);
  std::vector<Thread> follow(std::span<const Thread> from, std::string_view bytes, Takers takers,
                             bool& has_dropped);
  std::span<const std::uint32_t> mask();

  std::shared_ptr<const MatcherGrammar> grammar;
  Machine machine;
  match::ChainTable set_table;
  std::vector<Set> sets;
  std::vector<Thread> threads;
  std::uint32_t current = 0;
  std::vector<Accepted> accepted;
  std::vector<KnownMask> masks;
  std::size_t next_mask = 0;  ///< the mask to replace
  std::int64_t dropped = 0;
};

std::uint32_t Matcher::State::intern(std::span<const Thread> found) {
  std::uint64_t hash = found.size();
  for (const Thread& thread : found) hash = match::mixed(hash, thread.hash());
  const std::uint32_t known = set_table.find(hash, [&](std::uint32_t id) {
    const auto have = threads_of(id);
    return std::equal(have.begin(), have.end(), found.begin(), found.end());
  });
  if (known != match::ChainTable::kNone) return known;
  const auto first = static_cast<std::uint32_t>(threads.size());
  threads.insert(threads.end(), found.begin(), found.end());
  sets.push_back({first, static_cast<std::uint32_t>(threads.size())});
  return set_table.add(hash);
}

void Matcher::State::shrink_sets(std::uint32_t count) {
  if (count == sets.size()) return;
  threads.resize(sets[count].first);
  sets.resize(count);
  set_table.shrink(count);
  masks.erase(std::remove_if(masks.begin(), masks.end(),
                             [&](const KnownMask& mask) { return mask.set >= count; }),
              masks.end());
  next_mask = 0;
}

/// Returns the threads behind `bytes`.
std::vector<Thread> Matcher::State::follow(std::span<const Thread> from, std::string_view bytes,
                                           Takers takers, bool& has_dropped) {
  std::vector<Thread> now(from.begin(), from.end());
  for (const char byte : bytes) {
    const auto before = std::ssize(now);
    const std::size_t left_out =
        machine.step_all(now, 0, static_cast<std::uint8_t>(byte), takers, kThreadsInsideMax)
            .left_out;
    dropped += static_cast<std::int64_t>(left_out);
    has_dropped |= left_out > 0;
    now.erase(now.begin(), now.begin() + before);
    if (now.empty()) break;
  }
  return now;
}

bool Matcher::State::advance(std::string_view bytes, Takers takers) {
  machine.trim();
  const Accepted before{current, machine.marks(), static_cast<std::uint32_t>(sets.size())};
  const std::vector<Thread> from(threads_of(current).begin(), threads_of(current).end());
  bool has_dropped = false;
  std::vector<Thread> found = follow(from, bytes, takers, has_dropped);
  // Where alternatives were dropped, one of the others may still take the token.
  for (std::size_t i = 0; i < from.size() && found.empty() && has_dropped; ++i) {
    bool ignored = false;
    found = follow({&from[i], 1}, bytes, takers, ignored);
  }
  if (found.empty()) {
    machine.shrink(before.marks);
    return false;
  }
  if (found.size() > kThreadsMax) {
    dropped += static_cast<std::int64_t>(found.size() - kThreadsMax);
    found.resize(kThreadsMax);
  }
  current = intern(found);
  accepted.push_back(before);
  return true;
}

std::span<const std::uint32_t> Matcher::State::mask() {
  for (const KnownMask& known : masks) {
    if (known.set == current) return known.bits;
  }
  // It is kept when it is complete: the walk may run out of memory.
  KnownMask made{.set = current, .bits = std::vector<std::uint32_t>(grammar->trie().mask_words())};
  const Machine::Marks before = machine.marks();
  match::add_allowed(machine, threads_of(current), made.bits);
  machine.shrink(before);
  if (masks.size() < kMasksKept) {
    next_mask = masks.size();
    masks.push_back(std::move(made));
  } else {
    next_mask = (next_mask + 1) % kMasksKept;
    masks[next_mask] = std::move(made);
  }
  return masks[next_mask].bits;
}

Matcher::Matcher(std::shared_ptr<const MatcherGrammar> grammar)
    : state_(std::make_unique<State>(std::move(grammar))) {}

Matcher::Matcher(const Matcher& other) : state_(std::make_unique<State>(*other.state_)) {}

Matcher& Matcher::operator=(const Matcher& other) {
  if (this != &other) state_ = std::make_unique<State>(*other.state_);
  return *this;
}

Matcher::Matcher(Matcher&&) noexcept = default;
Matcher& Matcher::operator=(Matcher&&) noexcept = default;
Matcher::~Matcher() = default;

bool Matcher::accept(std::int32_t id) {
  const TokenTrie& trie = state_->grammar->trie();
  if (id < 0 || id >= trie.ids() || trie.use(id) == TokenUse::kNone) return false;
  const bool is_marker = trie.use(id) == TokenUse::kMarker;
  return state_->advance(trie.bytes(id), is_marker ? Takers::kTerminals : Takers::kAll);
}

bool Matcher::accept_bytes(std::string_view bytes) { return state_->advance(bytes, Takers::kAll); }

void Matcher::truncate(std::int64_t count) {
  INGOT_CHECK(count >= 0 && count <= tokens(), "truncate by ", count, " of ", tokens());
  if (count == 0) return;
  const auto kept = to_size(tokens() - count);
  const State::Accepted& first = state_->accepted[kept];
  state_->current = first.set;
  state_->shrink_sets(first.sets);
  state_->machine.shrink(first.marks);
  state_->accepted.resize(kept);
}

std::int64_t Matcher::dropped() const { return state_->dropped; }

std::int64_t Matcher::tokens() const { return std::ssize(state_->accepted); }

std::span<const std::uint32_t> Matcher::mask() { return state_->mask(); }

const TokenTrie& Matcher::trie() const { return state_->grammar->trie(); }

bool Matcher::is_complete() const {
  const auto now = state_->threads_of(state_->current);
  return std::any_of(now.begin(), now.end(),
                     [&](const Thread& thread) { return state_->machine.may_end(thread); });
}

bool Matcher::may_continue() const {
  const auto now = state_->threads_of(state_->current);
  return std::any_of(now.begin(), now.end(),
                     [&](const Thread& thread) { return state_->machine.may_go_on(thread); });
}

}  // namespace ingot
