// Machine: moves threads through a grammar, one byte at a time.
#include "constraint/match/machine.h"

#include <algorithm>
#include <utility>

#include "base/index.h"

namespace ingot::match {
namespace {

/// Behind a byte, threads are stepped until there are more than this many, which are then joined.
constexpr std::size_t kUnjoinedMax = 16'384;
/// A new frame costs as much time as this many steps of threads.
constexpr std::size_t kFrameSteps = 16;
/// Frames below a thread that are compared when threads are joined. Deeper ones stay apart.
constexpr int kJoinedLevels = 64;
/// Up to this many threads are compared in pairs.
constexpr std::size_t kPairsMax = 24;
/// Threads and names that a matcher keeps to save time: about a MiB.
constexpr std::size_t kMemoMax = 16'384;

}  // namespace

void remove_repeated(std::vector<Thread>& threads, std::size_t first) {
  const std::size_t count = threads.size() - first;
  if (count < 2) return;
  if (count <= kPairsMax) {
    std::size_t kept = first + 1;
    for (std::size_t i = first + 1; i < threads.size(); ++i) {
      const auto begin = threads.begin() + static_cast<std::ptrdiff_t>(first);
      const auto end = threads.begin() + static_cast<std::ptrdiff_t>(kept);
      if (std::find(begin, end, threads[i]) == end) threads[kept++] = threads[i];
    }
    threads.resize(kept);
    return;
  }
  Arena<Thread> seen;
  std::size_t kept = first;
  for (std::size_t i = first; i < threads.size(); ++i) {
    const std::uint32_t before = seen.size();
    seen.intern(threads[i]);
    if (seen.size() > before) threads[kept++] = threads[i];
  }
  threads.resize(kept);
}

std::uint64_t Machine::PropertySet::hash() const {
  std::uint64_t h = words.size();
  for (const std::uint64_t word : words) h = mixed(h, word);
  return h;
}

Machine::Machine(const MatcherGrammar& grammar) : grammar_(&grammar) {
  frames_.intern({.node = kNoNode});
  texts_.intern({.last = CodePoints::kLast + 1});
  texts_.intern({.last = CodePoints::kLast + 2});
  lists_.intern({});
  sets_.intern({});
}

Thread Machine::start() const { return {.node = grammar_->grammar().root()}; }

Machine::Marks Machine::marks() const {
  return {frames_.size(),
          texts_.size(),
          lists_.size(),
          sets_.size(),
          continuation_table_.size(),
          static_cast<std::uint32_t>(begun_.size()),
          choices_table_.size(),
          memo_};
}

void Machine::shrink(const Marks& marks) {
  frames_.shrink(marks.frames);
  texts_.shrink(marks.texts);
  lists_.shrink(marks.lists);
  sets_.shrink(marks.sets);
  const bool is_comparable = marks.memo == memo_;
  shrink_memo(is_comparable ? marks : Marks{});
}

void Machine::shrink_memo(const Marks& marks) {
  continuation_table_.shrink(marks.continuations);
  continuations_.resize(marks.continuations);
  begun_.resize(marks.begun);
  choices_table_.shrink(marks.choices);
  choices_.resize(marks.choices);
}

void Machine::trim() {
  if (begun_.size() < kMemoMax && choices_names_ < kMemoMax) return;
  shrink_memo({});
  ++memo_;
  choices_names_ = 0;
}

/// Whether the thread's frame is its own array or object, so that only the frames below it may be
/// joined.
bool Machine::joins_parents(const Thread& thread) const {
  switch (thread.leaf) {
    case Leaf::kArrayFirst:
    case Leaf::kArrayNext:
    case Leaf::kObjectFirst:
    case Leaf::kObjectNext:
    case Leaf::kObjectComma:
    case Leaf::kObjectKey:
    case Leaf::kKey:
      return true;
    default:
      return thread.text != 0 || thread.node == kItem;
  }
}

void Machine::add_members(FrameId frame, std::vector<std::uint64_t>& members) const {
  if (frames_[frame].node != kAnyOf) {
    members.push_back(frame);
    return;
  }
  const auto& words = sets_[frames_[frame].extra].words;
  members.insert(members.end(), words.begin(), words.end());
}

/// Returns the frame that stands for all that some frames stand for.
FrameId Machine::any_of(std::vector<std::uint64_t>& frames, int levels) {
  std::sort(frames.begin(), frames.end());
  frames.erase(std::unique(frames.begin(), frames.end()), frames.end());
  if (frames.size() == 1) return static_cast<FrameId>(frames[0]);
  std::vector<std::uint64_t> members;
  for (const std::uint64_t frame : frames) add_members(static_cast<FrameId>(frame), members);
  return frame_of(std::move(members), levels);
}

/// Returns the frame that stands for some frames. Frames that differ only in the frames below
/// become one with all of these below it, and so on downwards: a text that has come here in many
/// ways has few frames on each level.
FrameId Machine::frame_of(std::vector<std::uint64_t> members, int levels) {
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  if (members.size() > 1 && levels > 0) {
    Arena<Frame> tops;
    std::vector<std::vector<std::uint64_t>> below;  // [tops]
    for (const std::uint64_t member : members) {
      if (member == 0) continue;  // the empty stack
      Frame top = frames_[static_cast<FrameId>(member)];
      const FrameId parent = std::exchange(top.parent, 0);
      const std::uint32_t index = tops.intern(top);
      if (index == below.size()) below.emplace_back();
      below[index].push_back(parent);
    }
    const bool has_empty = members[0] == 0;
    if (tops.size() + (has_empty ? 1 : 0) < members.size()) {
      members.resize(has_empty ? 1 : 0);
      for (std::uint32_t i = 0; i < tops.size(); ++i) {
        Frame top = tops[i];
        top.parent = any_of(below[i], levels - 1);
        members.push_back(frames_.intern(top));
      }
      std::sort(members.begin(), members.end());
    }
  }
  if (members.size() == 1) return static_cast<FrameId>(members[0]);
  return frames_.intern({.node = kAnyOf, .extra = sets_.intern({std::move(members)})});
}

Machine::Stepped Machine::step_all(std::vector<Thread>& threads, std::size_t first,
                                   std::uint8_t byte, Takers takers, std::size_t most) {
  const std::size_t end = threads.size();
  const std::uint32_t frames = frames_.size();
  std::size_t i = first;
  for (; i < end && threads.size() - end <= kUnjoinedMax; ++i) {
    const Thread from = threads[i];
    step(from, byte, takers, threads);
  }
  const std::size_t made = threads.size() - end + kFrameSteps * (frames_.size() - frames);
  join(threads, end);
  const std::size_t found = threads.size() - end;
  const std::size_t kept = std::min(found, most);
  threads.resize(end + kept);
  return {.left_out = found - kept + (end - i), .steps = i - first + made};
}

void Machine::join(std::vector<Thread>& threads, std::size_t first) {
  remove_repeated(threads, first);
  if (threads.size() - first < 2) return;
  // A thread and its own frame, without the frames below.
  struct Top {
    Thread thread;
    Frame frame;
    bool operator==(const Top&) const = default;
    std::uint64_t hash() const { return mixed(thread.hash(), frame.hash()); }
  };
  const auto top_of = [&](const Thread& thread) {
    Top top{thread, {}};
    top.thread.frame = 0;
    if (!joins_parents(thread)) return top;
    top.frame = frames_[thread.frame];
    top.frame.parent = 0;
    return top;
  };
  Arena<Top> tops;
  std::vector<std::vector<std::uint64_t>> below;  // [tops]
  for (std::size_t i = first; i < threads.size(); ++i) {
    const Thread& thread = threads[i];
    const std::uint32_t top = tops.intern(top_of(thread));
    if (top == below.size()) below.emplace_back();
    below[top].push_back(joins_parents(thread) ? frames_[thread.frame].parent : thread.frame);
  }
  if (tops.size() == threads.size() - first) return;
  threads.resize(first);
  for (std::uint32_t i = 0; i < tops.size(); ++i) {
    Top top = tops[i];
    top.thread.frame = any_of(below[i], kJoinedLevels);
    if (joins_parents(top.thread)) {
      top.frame.parent = top.thread.frame;
      top.thread.frame = frames_.intern(top.frame);
    }
    threads.push_back(top.thread);
  }
}

Machine::Continuation Machine::continuation(NodeId node, FrameId frame) {
  const std::uint64_t hash = mixed(frame, node);
  const std::uint32_t known = continuation_table_.find(hash, [&](std::uint32_t id) {
    return continuations_[id].node == node && continuations_[id].frame == frame;
  });
  if (known != ChainTable::kNone) return continuations_[known];

  Continuation found{
      .first = static_cast<std::uint32_t>(begun_.size()), .node = node, .frame = frame};
  Arena<Begin> seen;
  std::vector<Begin> open{{node, frame, 0}};
  while (!open.empty()) {
    const Begin next = open.back();
    open.pop_back();
    const std::uint32_t before = seen.size();
    seen.intern(next);
    if (seen.size() > before) begin(next, open, found);
  }
  remove_repeated(begun_, found.first);
  found.last = static_cast<std::uint32_t>(begun_.size());
  continuation_table_.add(hash);
  continuations_.push_back(found);
  return found;
}

/// Adds the threads with which `what` begins to the continuation `found`, and to `open` what begins
/// with them.
void Machine::begin(const Begin& what, std::vector<Begin>& open, Continuation& found) {
  if (what.node == kReturn) return begin_frame(what.frame, open, found);
  if (what.node == kItem) return begin_items(what.frame, open);
  const GrammarNode& node = grammar_->grammar().node(what.node);
  if (std::holds_alternative<grammar::Terminal>(node)) {
    const Thread thread{
        .leaf = Leaf::kTerminal, .frame = what.frame, .node = what.node, .text = what.text};
    const TextDfa& language = *this->language(thread);
    if (language.is_empty() || !has_unused_text(thread)) return;
    Thread then;
    if (terminal_may_end(thread, then)) open.push_back({kReturn, then.frame, 0});
    if (!language.arcs(TextDfa::start()).empty()) begun_.push_back(thread);
  } else if (std::holds_alternative<grammar::String>(node)) {
    Thread thread{.leaf = Leaf::kStringOpen, .frame = what.frame, .node = what.node};
    if (what.text != 0) thread.text = append(what.text, U'"');
    if (has_unused_text(thread)) begun_.push_back(thread);
  } else if (const auto* sequence = std::get_if<grammar::Sequence>(&node)) {
    if (sequence->parts.empty()) {
      open.push_back({kReturn, what.frame, 0});
      return;
    }
    const bool is_last = sequence->parts.size() == 1;
    open.push_back({sequence->parts[0],
                    is_last ? what.frame
                            : frames_.intern({.parent = what.frame, .node = what.node, .next = 1}),
                    0});
  } else if (const auto* choice = std::get_if<grammar::Choice>(&node)) {
    for (const NodeId alternative : choice->alternatives) {
      open.push_back({alternative, what.frame, what.text});
    }
  } else if (const auto* repeat = std::get_if<grammar::Repeat>(&node)) {
    if (repeat->count_min == 0) open.push_back({kReturn, what.frame, 0});
    if (repeat->count_max > 0) add_repeat(what.frame, what.node, 1, open);
  } else {
    const bool is_array = std::holds_alternative<grammar::Array>(node);
    begun_.push_back({.leaf = is_array ? Leaf::kArrayOpen : Leaf::kObjectOpen,
                      .frame = what.frame,
                      .node = what.node});
  }
}

/// Begins what follows the current part of a frame.
void Machine::begin_frame(FrameId id, std::vector<Begin>& open, Continuation& found) {
  if (id == 0) {
    found.can_end = true;
    return;
  }
  const Frame frame = frames_[id];
  if (frame.node == kAnyOf) {
    for (const std::uint64_t member : sets_[frame.extra].words) {
      open.push_back({kReturn, static_cast<FrameId>(member), 0});
    }
    return;
  }
  const GrammarNode& node = grammar_->grammar().node(frame.node);
  if (const auto* sequence = std::get_if<grammar::Sequence>(&node)) {
    const bool is_last = frame.next + 1 == sequence->parts.size();
    const FrameId behind =
        is_last
            ? frame.parent
            : frames_.intern({.parent = frame.parent, .node = frame.node, .next = frame.next + 1});
    open.push_back({sequence->parts[frame.next], behind, 0});
  } else if (const auto* repeat = std::get_if<grammar::Repeat>(&node)) {
    const bool is_behind_separator = frame.extra != 0;
    if (is_behind_separator) return add_repeat(frame.parent, frame.node, frame.count + 1, open);
    if (frame.count >= repeat->count_min) open.push_back({kReturn, frame.parent, 0});
    if (frame.count >= repeat->count_max) return;
    if (repeat->separator == kNoNode) {
      return add_repeat(frame.parent, frame.node, frame.count + 1, open);
    }
    Frame behind = frame;
    behind.extra = 1;
    open.push_back({repeat->separator, frames_.intern(behind), 0});
  } else {
    const bool is_array = std::holds_alternative<grammar::Array>(node);
    begun_.push_back({.leaf = is_array ? Leaf::kArrayNext : Leaf::kObjectNext, .frame = id});
  }
}

/// Begins the part with number `count` of a Repeat.
void Machine::add_repeat(FrameId parent, NodeId node, std::uint64_t count,
                         std::vector<Begin>& open) {
  const auto& repeat = std::get<grammar::Repeat>(grammar_->grammar().node(node));
  FrameId behind = parent;  // the Repeat ends with its last part
  if (count < repeat.count_max) {
    const std::uint64_t kept = repeat.count_max == kUnlimited
                                   ? std::min(count, std::max<std::uint64_t>(repeat.count_min, 1))
                                   : count;
    behind =
        frames_.intern({.parent = parent, .node = node, .count = static_cast<std::uint32_t>(kept)});
  }
  open.push_back({repeat.part, behind, 0});
}

/// Begins the next item of an array.
void Machine::begin_items(FrameId id, std::vector<Begin>& open) {
  const Frame frame = frames_[id];
  const auto& array = std::get<grammar::Array>(grammar_->grammar().node(frame.node));
  const ArrayRules& rules = grammar_->array(frame.node);
  const ArrayState state = array_state(frame);
  const grammar::Array::Item& item =
      frame.count < array.first.size() ? array.first[frame.count] : array.rest;
  for (const bool is_counted : {false, true}) {
    if (!rules.can_add(state, is_counted)) continue;
    Frame behind = frame;
    behind.count =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(frame.count + 1, rules.count_cap()));
    if (is_counted) {
      behind.extra = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(frame.extra + 1, rules.contained_cap()));
    }
    open.push_back({is_counted ? item.counted : item.value, frames_.intern(behind),
                    array.is_unique ? kEmptyText : 0});
  }
}

bool Machine::may_end(const Thread& thread) {
  if (thread.leaf == Leaf::kStart || thread.leaf == Leaf::kSpaceStart) {
    return continuation(thread.node, thread.frame).can_end;
  }
  Thread then;
  return thread.leaf == Leaf::kTerminal && terminal_may_end(thread, then) &&
         continuation(kReturn, then.frame).can_end;
}

bool Machine::may_go_on(const Thread& thread) {
  const auto has_begun = [&](NodeId node, FrameId frame) {
    const Continuation then = continuation(node, frame);
    return then.first < then.last;
  };
  if (thread.leaf == Leaf::kStart) return has_begun(thread.node, thread.frame);
  if (thread.leaf != Leaf::kTerminal || !thread.chars.is_between()) return true;
  Thread then;
  if (terminal_may_end(thread, then) && has_begun(kReturn, then.frame)) return true;
  const CodePointRange all[] = {{0, CodePoints::kLast}};
  return has_unused_text(thread, all);
}

const TextDfa* Machine::language(const Thread& thread) const {
  const Grammar& grammar = grammar_->grammar();
  std::uint32_t index = 0;
  if (thread.leaf == Leaf::kTerminal) {
    index = std::get<grammar::Terminal>(grammar.node(thread.node)).language;
  } else if (thread.leaf == Leaf::kKey) {
    index = std::get<grammar::Object>(grammar.node(thread.node)).other_keys;
  } else {
    index = std::get<grammar::String>(grammar.node(thread.node)).language;
    if (index == grammar::String::kAny) return nullptr;
  }
  return &grammar.language(index);
}

TextId Machine::append(TextId text, char32_t c) {
  return texts_.intern({text, c, texts_[text].length + 1});
}

bool Machine::is_used(ListId list, TextId text) const {
  for (; list != 0; list = lists_[list].before) {
    if (lists_[list].text == text) return true;
  }
  return false;
}

/// Writes the rest of a text behind `prefix`. Returns false if it does not begin so.
bool Machine::rest_behind(TextId text, TextId prefix, std::u32string& rest) const {
  const std::uint32_t length = texts_[prefix].length;
  rest.clear();
  if (texts_[text].length < length) return false;
  for (; texts_[text].length > length; text = texts_[text].before) rest += texts_[text].last;
  if (text != prefix) return false;
  std::reverse(rest.begin(), rest.end());
  return true;
}

void Machine::rests(ListId list, TextId prefix, std::vector<std::u32string>& out) const {
  std::u32string rest;
  for (; list != 0; list = lists_[list].before) {
    if (rest_behind(lists_[list].text, prefix, rest)) out.push_back(rest);
  }
}

/// Returns how many used texts continue the thread's text within its language. With `with_next`:
/// texts whose next code point is in `next`.
std::uint64_t Machine::used_texts(const Thread& thread, std::span<const CodePointRange> next,
                                  bool with_next) const {
  const TextDfa& dfa = *language(thread);
  std::uint64_t count = 0;
  std::u32string whole;
  for (ListId list = frames_[thread.frame].used; list != 0; list = lists_[list].before) {
    if (!rest_behind(lists_[list].text, thread.text, whole)) continue;
    std::u32string_view rest = whole;
    if (thread.leaf != Leaf::kTerminal && thread.leaf != Leaf::kKey) {
      if (rest.empty() || rest.back() != U'"') continue;
      rest.remove_suffix(1);
    }
    const auto is_next = [&](const CodePointRange& range) {
      return range.first <= rest[0] && rest[0] <= range.last;
    };
    if (with_next && (rest.empty() || std::none_of(next.begin(), next.end(), is_next))) continue;
    std::int32_t state = thread.state;
    for (std::size_t i = 0; i < rest.size() && state != TextDfa::kDead; ++i) {
      state = dfa.step(state, rest[i]);
    }
    count += state != TextDfa::kDead && dfa.accepts(state) ? 1u : 0u;
  }
  return count;
}

/// Whether the thread's text has a continuation that its array or object does not have yet.
bool Machine::has_unused_text(const Thread& thread) const {
  if (thread.text == 0) return true;
  const TextDfa* dfa = language(thread);
  if (dfa == nullptr) return true;
  if (dfa->is_empty()) return false;
  const std::uint64_t count = dfa->count(thread.state);
  return count == TextDfa::kInfinite || count > used_length(thread) ||
         count > used_texts(thread, {}, false);
}

/// Whether there is such a continuation whose next code point is in `next`.
bool Machine::has_unused_text(const Thread& thread, std::span<const CodePointRange> next) const {
  const TextDfa* dfa = language(thread);
  if (dfa == nullptr) return true;
  if (thread.text == 0) {
    return std::any_of(next.begin(), next.end(), [&](const CodePointRange& range) {
      return dfa->has_step(thread.state, range.first, range.last);
    });
  }
  std::uint64_t count = 0;
  for (const TextDfa::Arc& arc : dfa->arcs(thread.state)) {
    for (const CodePointRange& range : next) {
      const char32_t first = std::max(range.first, arc.on.first);
      const char32_t last = std::min(range.last, arc.on.last);
      if (first > last) continue;
      const std::uint64_t below = dfa->count(arc.to), chars = last - first + 1;
      if (below > (TextDfa::kInfinite - 1 - count) / chars) return true;
      count += below * chars;
    }
  }
  return count > used_length(thread) || (count > 0 && count > used_texts(thread, next, true));
}

}  // namespace ingot::match
